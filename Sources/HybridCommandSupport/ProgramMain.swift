// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
internal import HybridPrimitives

extension AsyncParsableCommand {
    /// Runs the subcommand named on the command line; a failure becomes one line on standard error and an exit status.
    ///
    /// - Parameters:
    ///   - program: The program's name, at the beginning of that line.
    ///   - arguments: The command line without the program's name; by default that of the process.
    ///   - requiresOutput: True if every subcommand writes to standard output, so that none starts if it is closed.
    public static func runMain(
        _ program: String,
        arguments: [String]? = nil,
        requiresOutput: Bool = false
    ) async {
        StandardStreams.occupyClosed()
        do {
            var command = try parseAsRoot(arguments)
            if requiresOutput { try StandardOutput.requireOpen() }
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as any ExplainedFailure {
            CommandFailure(failure).exit(program: program)
        } catch  where exitCode(for: error) == .failure && !(error is ExitCode) {
            // The argument parser's own errors have other codes.
            let sentence = "internal fault: \(error); please report it"
            CommandFailure(sentence, code: "internal-fault", status: .software).exit(program: program)
        } catch {
            exit(withError: error)
        }
    }
}
