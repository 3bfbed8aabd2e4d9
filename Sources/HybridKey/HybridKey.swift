// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridProgram

/// The program `hybrid-key`, which makes the passkeys of a phone usable for programs on this computer.
@main
struct HybridKey: AsyncParsableCommand {
    static let programName = "hybrid-key"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Use a phone's passkeys for ssh, git and files, and as a security key.",
        version: ProductVersion.text,
        subcommands: [
            SSHAgentCommand.self, ServeCommand.self, SSHKeygenCommand.self, SSHKeysCommand.self, LinkCommand.self,
            RemoteCommand.self, SecretCommand.self, StatusCommand.self, LogCommand.self, ForgetCommand.self,
            PAMCommand.self,
            CeremonyCommand.self, WebsiteCommand.self, CheckConfig<KeySettingsCheck>.self,
        ]
    )

    static func main() async {
        ProcessMemory.protect()
        // The agent needs no tasks, and never wakes up while it is idle.
        if CommandLine.arguments.dropFirst().first?.hasPrefix(AgePluginCommand.argument) == true {
            return await AgePluginCommand.runMain(AgePluginCommand.configuration.commandName ?? programName)
        }
        guard let command = runWithoutTasks(programName) else { return }
        await run(command, programName)
    }

    /// Prints one line on standard error.
    @Sendable static func report(_ sentence: String) { StandardError.writeLine("\(programName): \(sentence)") }
}
