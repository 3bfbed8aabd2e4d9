// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridProgram
internal import HybridThreads

/// The command `hybrid-lab run -- COMMAND`, which runs a command in a new lab environment.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command with a virtual radio and a relay, and clean up when it ends.",
        discussion: """
            The command and its child processes get these variables: DBUS_SYSTEM_BUS_ADDRESS for the radio, \
            HYBRID_LAB_CHROMIUM_ARGS (a JSON list) for Chromium, the others for hybrid-lab phone, and for --cacert and \
            --connect-to of hybrid-client and hybrid-key. The exit status is that of the command: 128 plus the \
            signal's number if it was killed, 127 if it was not found.
            """
    )

    @OptionGroup(title: "The lab environment")
    var options: LabEnvironmentOptions

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("Name a command after --.") }
    }

    func run() async throws {
        SignalForwarding.install()
        let code = try await options.run { environment in
            StandardError.writeLine("\(HybridLab.programName): VIRTUAL RADIO: no proximity proof")
            return await WrappedCommand.run(command, Dictionary(uniqueKeysWithValues: environment.variables))
        }
        throw code
    }
}

/// A command that determines this program's exit status.
enum WrappedCommand {
    /// Runs the command with these variables, forwards signals to it, and returns the exit code of this program.
    static func run(_ arguments: [String], _ variables: [String: String]) async -> ExitCode {
        let child: ChildProcess
        do throws(ChildProcess.SpawnError) {
            child = try ChildProcess.spawn(arguments, variables: variables, role: .command)
        } catch {
            StandardError.writeLine("\(HybridLab.programName): \(arguments[0]) cannot be run: \(error.reason)")
            // The exit codes that shells use.
            return ExitCode(error.code == ENOENT ? 127 : 126)
        }
        SignalForwarding.start(to: child.id)
        let termination = await child.wait()
        SignalForwarding.stop()
        return ExitCode(termination.shellStatus)
    }
}
