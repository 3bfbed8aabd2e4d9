// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport

/// `hybrid-client`: this device as the desktop, which shows a code and is answered by a phone.
@main
struct HybridClient: AsyncParsableCommand {
    static let programName = "hybrid-client"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Sign in here with a passkey on another device.",
        version: ProductVersion.text,
        subcommands: [ShowQR.self, Doctor.self, CheckConfig.self]
    )

    static func main() async {
        StandardDescriptors.occupyClosed()
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            failure.exit(program: programName)
        } catch {
            exit(withError: error)
        }
    }
}
