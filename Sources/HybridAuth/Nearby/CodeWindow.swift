// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// The window of `hybrid-prompt`, in place of standard error.
struct CodeWindow: Sendable {
    private static let standardProgram = "hybrid-prompt"

    private let process: ChildProcess
    private let answers: CInt

    /// Opens the window, which shows everything that this process writes to standard error from now on.
    ///
    /// - Parameter program: The program from the settings; `nil` for `hybrid-prompt` on the search path.
    /// - Throws: ``CommandFailure`` if the program can't be started.
    init(_ program: String?) throws(CommandFailure) {
        let program = program ?? Self.standardProgram
        guard let events = SocketPair.make(), let answers = SocketPair.make() else {
            throw CommandFailure("no file descriptors left", status: .unavailable)
        }
        defer { for descriptor in [events.0, events.1, answers.1] { close(descriptor) } }
        do throws(ChildProcess.SpawnError) {
            process = try .spawn(
                [program],
                input: .descriptor(events.1),
                output: .descriptor(answers.1),
                // The window of a result or a failure outlives this process.
                role: .service
            )
        } catch {
            close(answers.0)
            let name = SafeText(quoting: program)
            throw CommandFailure(
                "\(name) can't be run: \(error.reason); \(error.promptRemedy)",
                status: .unavailable
            )
        }
        self.answers = answers.0
        dup2(events.0, STDERR_FILENO)
    }

    /// Lets a cancellation in the window, or the end of its program, interrupt this process as Ctrl-C does.
    func beginListening() {
        _ = DedicatedThread.start { [self] in
            // A transfer offers no other answer.
            var byte: UInt8 = 0
            while read(answers, &byte, 1) < 0, errno == EINTR {}
            kill(getpid(), SIGINT)
            process.waitBlocking()
        }
    }
}
