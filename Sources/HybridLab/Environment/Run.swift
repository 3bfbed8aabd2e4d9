// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridVirtualBlueZ

/// `hybrid-lab run -- COMMAND`: a command at a table of its own.
struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a command beside a virtual radio and a relay, and clear up when it ends.",
        discussion: """
            The command and all it starts find what they need in variables: DBUS_SYSTEM_BUS_ADDRESS for the radio, \
            HYBRID_LAB_CHROMIUM_ARGS (a JSON list) for Chromium, the others for hybrid-lab phone. The exit status is \
            the command's; 128 and the signal's number if it was killed, 127 if it was not found.
            """
    )

    @OptionGroup(title: "The table")
    var options: LabEnvironmentOptions

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("Name a command after --.") }
    }

    func run() async throws {
        SignalForwarding.install()
        let code = try await options.run { rig in
            StandardError.writeLine("\(HybridLab.programName): VIRTUAL RADIO: no proximity proof")
            var variables: [String: String] = [:]
            for (name, value) in rig.surroundings.variables { variables[name] = value }
            return await WrappedCommand.run(command, variables)
        }
        throw code
    }
}

/// A command whose end is ours.
enum WrappedCommand {
    /// Runs it with some variables, hands signals on, and returns the status to end with.
    static func run(_ arguments: [String], _ variables: [String: String]) async -> ExitCode {
        let child: ChildProcess
        do throws(ChildProcess.SpawnError) {
            child = try ChildProcess.spawn(arguments, variables: variables)
        } catch {
            StandardError.writeLine("\(HybridLab.programName): \(arguments[0]) cannot be run: \(error.words)")
            // As shells do.
            return ExitCode(error.code == ENOENT ? 127 : 126)
        }
        SignalForwarding.pass(to: child.id)
        let ending = await child.wait()
        SignalForwarding.stop()
        return ExitCode(ending.shellStatus)
    }
}
