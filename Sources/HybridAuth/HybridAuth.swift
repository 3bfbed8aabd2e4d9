// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport

/// `hybrid-auth`: this device as the phone, which keeps passkeys and signs in on other devices.
@main
struct HybridAuth: AsyncParsableCommand {
    static let programName = "hybrid-auth"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Sign in on another device with a passkey kept here.",
        version: ProductVersion.text,
        subcommands: [
            Scan.self, Setup.self, VaultCommand.self, PasskeysCommand.self, ExportCommand.self, ImportCommand.self,
            CheckConfig.self,
        ]
    )

    static func main() async {
        StandardDescriptors.occupyClosed()
        // No core file: it would hold keys.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        do {
            var command = try parseAsRoot(ProcessArguments.withoutTrace())
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
