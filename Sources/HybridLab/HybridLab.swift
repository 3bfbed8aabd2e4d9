// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives

/// `hybrid-lab`: cross-device sign-in without phones and without Bluetooth, for tests and for the curious.
@main
struct HybridLab: AsyncParsableCommand {
    static let programName = "hybrid-lab"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "A table on which whole ceremonies run: virtual radio, relay, scripted phone.",
        version: ProductVersion.text,
        subcommands: [Demo.self, Run.self, Up.self, PhoneCommand.self, Air.self]
    )

    static func main() async {
        do {
            var command = try parseAsRoot()
            try StandardOutput.requireOpen()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            failure.exit(program: programName)
        } catch  where exitCode(for: error) == .failure && !(error is ExitCode) {
            // Of the parser of arguments these are not.
            let sentence = "internal fault: \(error); please report it"
            CommandFailure(sentence, code: "internal-fault", status: .software).exit(program: programName)
        } catch {
            exit(withError: error)
        }
    }
}
