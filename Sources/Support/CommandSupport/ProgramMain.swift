// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
internal import Glibc
internal import HybridPrimitives
internal import HybridProgram

extension AsyncParsableCommand {
    /// Runs the subcommand named on the command line; a failure becomes one line on standard error and an exit status.
    ///
    /// With `--json`, that line is an event for programs, as in the reports of progress.
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
        if let command { await run(command, program, arguments: arguments) }
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
        let format = Self.format(arguments)
        do {
            var command = try parseAsRoot(arguments)
            if requiresOutput { try StandardOutput.requireOpen() }
            if let asynchronous = command as? any AsyncParsableCommand { return asynchronous }
            try command.run()
            return nil
        } catch {
            end(program, error, format)
        }
    }

    /// Runs an asynchronous subcommand; reports a failure like ``runMain(_:arguments:requiresOutput:)``.
    ///
    /// - Parameters:
    ///   - command: The subcommand.
    ///   - program: The program's name.
    ///   - arguments: The command line, as for ``runMain(_:arguments:requiresOutput:)``.
    package static func run(
        _ command: any AsyncParsableCommand,
        _ program: String,
        arguments: [String]? = nil
    ) async {
        var command = command
        do {
            try await command.run()
        } catch {
            end(program, error, Self.format(arguments))
        }
    }

    /// Returns the format of failures: JSON if the command line has the flag `--json`, even if it is wrong otherwise.
    package static func format(_ arguments: [String]? = nil) -> ProgressReport.Format {
        let flags = (arguments ?? Array(CommandLine.arguments.dropFirst())).prefix { $0 != "--" }
        return flags.contains("--json") ? .json : .lines
    }

    private static func end(_ program: String, _ error: any Error, _ format: ProgressReport.Format) -> Never {
        let report = ProgressReport(program: program, format: format)
        if let failure = failure(error, format) {
            report.end(failure)
            Glibc.exit(failure.status.rawValue)
        }
        exit(withError: error)
    }

    /// Returns the failure to report; `nil` if the argument parser reports the error itself, or it has been reported.
    private static func failure(_ error: any Error, _ format: ProgressReport.Format) -> CommandFailure? {
        if let failure = error as? any ExplainedFailure { return CommandFailure(failure) }
        switch exitCode(for: error) {
        case _ where error is ExitCode: return nil
        case .failure:
            // The argument parser's own errors have other codes.
            let sentence = "internal fault: \(error); please report it"
            return CommandFailure(sentence, code: "internal-fault", status: .software)
        case .validationFailure where format == .json:
            return CommandFailure(message(for: error), status: .usage)
        default: return nil
        }
    }
}
