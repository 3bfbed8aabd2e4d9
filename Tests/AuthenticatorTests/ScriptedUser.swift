// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Testing

/// A person who does what a test says, and whose questions are noted.
struct ScriptedUser: UserInteraction {
    enum Answer: Sendable {
        case yes
        case no(UserRefusal)
        /// Leaves the dialog open until it is taken down; then it counts as closed.
        case waits(Signal)
    }

    let journal: Journal
    /// What is typed, one after the other; the last again and again.
    var pins = [MemoryStore.rightPIN]
    var atPIN = Answer.yes
    var atConfirmation = Answer.yes
    var atChoice = Answer.yes
    var atNotice = Answer.yes
    /// Which account of those offered.
    var choice = 0

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        let asked = journal.events.count { if case .askedPIN = $0 { true } else { false } }
        journal.note(.askedPIN(operation, problem))
        try await follow(atPIN)
        let text = pins[min(asked, pins.count - 1)]
        guard let pin = PIN.typed(text) else { throw .unavailable("no PIN is like \(text)") }
        return pin
    }

    func confirmCreation(
        of account: UserEntity,
        for relyingParty: RelyingPartyID,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {
        journal.note(.confirmed(account, relyingParty, replacing: replaced))
        try await follow(atConfirmation)
    }

    func chooseAccount(_ accounts: [UserEntity], for relyingParty: RelyingPartyID) async throws(UserRefusal) -> Int {
        journal.note(.chose(accounts, relyingParty))
        try await follow(atChoice)
        return choice
    }

    func tell(_ notice: Notice, relyingParty: RelyingPartyID) async throws(UserRefusal) {
        journal.note(.told(notice, relyingParty))
        try await follow(atNotice)
    }

    private func follow(_ answer: Answer) async throws(UserRefusal) {
        switch answer {
        case .yes: return
        case .no(let refusal): throw refusal
        case .waits(let asked):
            asked.fire()
            await Signal.cancellation()
            throw .declined
        }
    }
}

/// Something that happens once, for others to wait for.
struct Signal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func fire() { continuation.finish() }
    func wait() async { for await _ in stream {} }

    /// Returns when the task is cancelled.
    static func cancellation() async {
        let never = Signal()
        await never.wait()
        withExtendedLifetime(never) {}
    }
}

extension PIN {
    static func typed(_ text: String) -> PIN? { Array(text.utf8).withUnsafeBytes { PIN(utf8: $0) } }
}
