// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
internal import HybridPrimitives
internal import HybridProgram

extension AsyncParsableCommand {
    /// Runs the subcommand named on the command line; a failure becomes one line on standard error and an exit status.
    ///
    /// - Parameters:
    ///   - program: The program's name, at the beginning of that line.
    ///   - arguments: The command line without the program's name; by default that of the process.
    ///   - requiresOutput: True if every subcommand writes to standard output, so that none starts if it is closed.
    package static func runMain(
        _ program: String,
        arguments: [String]? = nil,
        requiresOutput: Bool = false
    ) async {
        let command = runWithoutTasks(program, arguments: arguments, requiresOutput: requiresOutput)
        if let command { await run(command, program) }
    }

    /// Runs the subcommand as ``runMain(_:arguments:requiresOutput:)`` does, unless it is asynchronous.
    ///
    /// A program calls it before its first task if it has services that sleep while they are idle. The first task of a
    /// process starts Swift's thread pool, whose supervision then wakes the process every second.
    ///
    /// - Returns: The subcommand if it is asynchronous, for ``run(_:_:)``; otherwise `nil`, after its end.
    package static func runWithoutTasks(
        _ program: String,
        arguments: [String]? = nil,
        requiresOutput: Bool = false
    ) -> (any AsyncParsableCommand)? {
        StandardStreams.prepare()
        do {
            var command = try parseAsRoot(arguments)
            if requiresOutput { try StandardOutput.requireOpen() }
            if let asynchronous = command as? any AsyncParsableCommand { return asynchronous }
            try command.run()
            return nil
        } catch {
            end(program, error)
        }
    }

    /// Runs an asynchronous subcommand; reports a failure like ``runMain(_:arguments:requiresOutput:)``.
    package static func run(_ command: any AsyncParsableCommand, _ program: String) async {
        var command = command
        do {
            try await command.run()
        } catch {
            end(program, error)
        }
    }

    private static func end(_ program: String, _ error: any Error) -> Never {
        if let failure = error as? any ExplainedFailure { CommandFailure(failure).exit(program: program) }
        if exitCode(for: error) == .failure, !(error is ExitCode) {
            // The argument parser's own errors have other codes.
            let sentence = "internal fault: \(error); please report it"
            CommandFailure(sentence, code: "internal-fault", status: .software).exit(program: program)
        }
        exit(withError: error)
    }
}
