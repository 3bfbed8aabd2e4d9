// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import TestSupport
import Testing

/// A user who follows a script; the prompts are logged.
struct ScriptedUser: UserInteraction {
    enum Answer: Sendable {
        case yes
        case no(UserRefusal)
        /// Leaves the prompt open until it is cancelled, which counts as closed.
        case waits(Signal)
    }

    let log: EventLog
    /// PINs to enter in turn; the last one is repeated.
    var pins = [MemoryStore.rightPIN]
    var atPIN = Answer.yes
    var atConfirmation = Answer.yes
    var atChoice = Answer.yes
    var atNotice = Answer.yes
    /// Index of the account to choose.
    var choice = 0

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        let asked = log.events.count { if case .askedPIN = $0 { true } else { false } }
        log.record(.askedPIN(operation, problem))
        try await follow(atPIN)
        let text = pins[min(asked, pins.count - 1)]
        guard let pin = PIN.typed(text) else { throw .unavailable("not a PIN: \(text)") }
        return pin
    }

    func confirmCreation(
        of account: UserEntity,
        for operation: RequestedOperation,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {
        log.record(.confirmed(account, operation.relyingParty, replacing: replaced))
        try await follow(atConfirmation)
    }

    func chooseAccount(_ accounts: [UserEntity], for operation: RequestedOperation) async throws(UserRefusal) -> Int {
        log.record(.chose(accounts, operation.relyingParty))
        try await follow(atChoice)
        return choice
    }

    func show(_ notice: Notice, for operation: RequestedOperation) async throws(UserRefusal) {
        log.record(.notified(notice, operation.relyingParty))
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

extension PIN {
    static func typed(_ text: String) -> PIN? { Array(text.utf8).withUnsafeBytes { PIN(utf8: $0) } }
}
