// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridThreads

/// A program that asks the user, such as `hybrid-ask`: one process for all questions of a run.
///
/// 1. The program is started without arguments and without a shell, and says that it is ready.
/// 2. Questions and events are lines of JSON on its standard input; answers are lines on its standard output.
/// 3. ``finish(_:)`` sends the end of the run and closes its input; the program closes its window and exits.
///
/// The program is trusted to report the user's input. If it ends, the open question and all later ones count as declined.
/// Once all references are gone, its input is closed, and it is ended after a while.
package final class AskProgram: Sendable {
    /// Time limits of the program.
    package struct Limits: Sendable {
        /// Time from the start until the program is ready.
        package var ready: Duration
        /// Time for the program to exit after its input was closed.
        package var exit: Duration
        /// Time for the user to close a failure.
        package var failure: Duration

        /// Creates limits.
        package init(
            ready: Duration = .seconds(5),
            exit: Duration = .seconds(10),
            failure: Duration = .seconds(310)
        ) {
            (self.ready, self.exit, self.failure) = (ready, exit, failure)
        }
    }

    private let connection: AskConnection
    private let limits: Limits

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: The path of the program.
    ///   - variables: Variables that replace or extend the environment of this process.
    ///   - limits: Time limits.
    /// - Returns: `nil` if it can't be started.
    package init?(_ path: String, variables: [String: String] = [:], limits: Limits = Limits()) {
        let started = AskConnection(program: path, variables: variables, readyWithin: limits.ready)
        guard let started, started.start() else { return nil }
        (connection, self.limits) = (started, limits)
    }

    deinit { close(nil, within: limits.exit) }

    /// Waits until the program is ready; false if it ended or was ended before that.
    ///
    /// True without a wait if the calling task is canceled: then nothing is known, and nothing will be asked.
    package var isUsable: Bool {
        get async {
            while true {
                let phase = connection.conversation.read { $0.phase }
                if phase != .starting || Task.isCancelled { return phase != .failed }
                await connection.conversation.wait { $0.phase != .starting }
            }
        }
    }

    /// Asks a question, and withdraws it after its time limit or when the calling task is canceled.
    ///
    /// - Parameters:
    ///   - question: The question. If another one is open, that one ends without an answer.
    ///   - cause: Returns the reason why the calling task was canceled.
    package func ask(
        _ question: AskQuestion,
        cancelledBecause cause: @Sendable () -> AskWithdrawal = { .cancelled }
    ) async throws(AskRefusal) -> AskAnswer {
        if Task.isCancelled { throw .interrupted }
        let number = try open(question)
        let timer = Task { [connection] in
            guard (try? await Task.sleep(for: question.timeout)) != nil else { return }
            Self.withdraw(number, .timedOut, connection)
        }
        defer { timer.cancel() }
        while true {
            let outcome = connection.conversation.change { conversation in
                conversation.number == number ? conversation.takeOutcome() : .failure(.interrupted)
            }
            if let outcome { return try outcome.get() }
            if Task.isCancelled { Self.withdraw(number, cause(), connection) }
            await connection.conversation.wait { $0.number != number || $0.outcome != nil }
        }
    }

    private func open(_ question: AskQuestion) throws(AskRefusal) -> Int {
        let opened = connection.conversation.change { conversation in
            Result { () throws(AskRefusal) in
                var line = try conversation.ask(question)
                connection.send(line)
                // It may contain a recovery code.
                SecretBytes.wipe(&line)
                return conversation.number
            }
        }
        return try opened.get()
    }

    private static func withdraw(_ number: Int, _ cause: AskWithdrawal, _ connection: AskConnection) {
        connection.conversation.change { conversation in
            guard conversation.number == number else { return }
            connection.send(conversation.withdraw(cause))
        }
    }

    /// Sends an event; without effect once the program has ended.
    package func show(_ event: AskEvent) {
        connection.conversation.change { conversation in
            if conversation.isOpen { connection.send(event.line) }
        }
    }

    /// Sends the end of the run and closes the program's input.
    ///
    /// - Returns: True if the program was ready, so that it shows the end.
    @discardableResult
    package func finish(_ ending: AskEnding) -> Bool {
        close(.end(ending), within: ending.isFailure ? limits.failure : limits.exit)
    }

    /// Ends the program without a last event.
    package func abort() { close(nil, within: .zero) }

    @discardableResult
    private func close(_ event: AskEvent?, within limit: Duration) -> Bool {
        let (isFirst, wasReady) = connection.conversation.change { conversation in
            let (isFirst, wasReady) = (conversation.isOpen, conversation.phase == .ready)
            if isFirst { connection.send(event?.line) }
            conversation.finish()
            return (isFirst, wasReady)
        }
        if isFirst { connection.finish(within: limit) }
        return wasReady
    }
}
