// SPDX-License-Identifier: Apache-2.0

/// The rules of one conversation with the program, without input and output.
///
/// The program says that it is ready. Then one question at a time is asked; it is answered, withdrawn, or ended with the
/// program. Nothing that the program sends at another time has an effect.
struct AskConversation: Sendable {
    /// The version of the protocol.
    static let version = 1
    /// Maximum number of lines without effect after a question, or before the first one.
    static let maximumIgnored = 256

    /// The phases of the program.
    enum Phase: Sendable {
        /// The program has not said that it is ready.
        case starting
        case ready
        /// No more questions follow, and the program may still show the end.
        case closing
        /// The program ended, or violated the protocol, before it was ready.
        case failed
        /// The program ended, or violated the protocol, after it was ready.
        case ended
    }

    /// The phase.
    private(set) var phase = Phase.starting
    /// The number of the last question; questions count from 1.
    private(set) var number = 0
    /// The outcome of the last question; `nil` while it is open.
    private(set) var outcome: Result<AskAnswer, AskRefusal>?
    private var open: AskQuestion.Form?
    private var ignored = 0

    /// True while the program may be asked.
    var isOpen: Bool { phase == .starting || phase == .ready }

    /// True until the program has ended or must be ended.
    var isRunning: Bool { isOpen || phase == .closing }

    /// Opens a question.
    ///
    /// - Returns: Its line.
    /// - Throws: ``AskRefusal/declined`` if the program has ended, ``AskRefusal/tooLong``.
    mutating func ask(_ question: AskQuestion) throws(AskRefusal) -> [UInt8] {
        guard isOpen else { throw .declined }
        guard let line = question.line(number + 1) else { throw .tooLong }
        close(.failure(.interrupted))
        number += 1
        (open, outcome, ignored) = (question.form, nil, 0)
        return line
    }

    /// Takes a line without its end from the program.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        guard isOpen else { return }
        let line = AskLine(bytes)
        guard phase == .ready else {
            phase = line?.isGreeting(of: Self.version) == true ? .ready : .failed
            if phase == .failed { close(.failure(.declined)) }
            return
        }
        guard let form = open, line?.answer ?? number == number else { return ignore() }
        // A line that can't be read might be an answer to the open question.
        close(
            Result { () throws(AskRefusal) in
                guard let line else { throw .declined }
                return try line.answer(to: form)
            }
        )
    }

    /// Closes the open question without an answer.
    ///
    /// - Returns: The line for the program; `nil` if no question is open.
    mutating func withdraw(_ cause: AskWithdrawal) -> [UInt8]? {
        guard open != nil else { return nil }
        close(.failure(cause == .timedOut ? .timedOut : .interrupted))
        return AskEvent.withdrawn(number, cause).line
    }

    /// Records that no more questions follow.
    mutating func finish() {
        if isOpen { phase = .closing }
        close(.failure(.declined))
    }

    /// Records that the program has ended or is ended.
    mutating func end() {
        phase = phase == .starting || phase == .failed ? .failed : .ended
        close(.failure(.declined))
    }

    private mutating func close(_ outcome: Result<AskAnswer, AskRefusal>) {
        guard open != nil else { return }
        (open, self.outcome) = (nil, outcome)
    }

    private mutating func ignore() {
        ignored += 1
        if ignored > Self.maximumIgnored { end() }
    }

    /// Forgets the outcome, which may contain a secret.
    mutating func takeOutcome() -> Result<AskAnswer, AskRefusal>? {
        defer { outcome = nil }
        return outcome
    }
}
