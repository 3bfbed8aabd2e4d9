// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridProgram

/// The program `hybrid-remote`, which carries requests of websites on this host to the computer with the phone.
///
/// It uses neither radio nor network: it passes one message to the SSH agent that is forwarded to this host.
@main
struct HybridRemote: AsyncParsableCommand {
    static let programName = "hybrid-remote"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Sign in on this host with a phone that is near the computer from which you use ssh.",
        version: ProductVersion.text,
        subcommands: [
            AskCommand.self, HostCommand.self, AnnounceCommand.self, DoctorCommand.self,
            CheckConfig<RemoteSettingsCheck>.self,
        ]
    )

    static func main() {
        ProcessMemory.protect()
        _ = runWithoutTasks(programName)
    }

    /// Prints one line on standard error.
    static func report(_ sentence: String) { StandardError.writeLine("\(programName): \(sentence)") }
}
