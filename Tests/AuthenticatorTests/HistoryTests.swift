// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Testing

@Suite("The history of requests", .timeLimit(.minutes(10)))
struct HistoryTests {
    private func noted(_ desk: Desk) -> [ServedRequest] {
        desk.journal.events.compactMap { if case .noted(let request) = $0 { request } else { nil } }
    }

    @Test("nothing is done before the client has the answer")
    func delivered() async throws {
        let desk = try Desk()
        let known = try desk.known("ada")
        #expect(await desk.sign().status == .success)
        #expect(noted(desk) == [] && desk.journal.openStores == 1)
        try await desk.authenticator.delivered()
        #expect(noted(desk) == [ServedRequest(.signIn(desk.relyingParty), .done, credential: known.id)])
        #expect(desk.journal.openStores == 0)
        try await desk.authenticator.delivered()
        await desk.authenticator.ended()
        #expect(noted(desk).count == 1, "what was noted is not noted again")
    }

    @Test("an answer that the client never hears is noted as that, with the passkey it was made by")
    func lost() async throws {
        let desk = try Desk()
        #expect(try await desk.create().status == .success)
        await desk.authenticator.ended()
        let made = try #require(desk.store.passkeys.first)
        #expect(noted(desk) == [ServedRequest(.create(desk.relyingParty), .clientGone, credential: made.id)])
        #expect(desk.journal.openStores == 0)
        try await desk.authenticator.delivered()
        #expect(noted(desk).count == 1, "and can't be delivered any more")
    }

    @Test("a further request before the delivery of the first shows that the first was lost")
    func followed() async throws {
        let desk = try Desk()
        let known = try desk.known("ada")
        #expect(await desk.sign().status == .success)
        #expect(await desk.sign().status == .success)
        try await desk.authenticator.delivered()
        #expect(
            noted(desk) == [
                ServedRequest(.signIn(desk.relyingParty), .clientGone, credential: known.id),
                ServedRequest(.signIn(desk.relyingParty), .done, credential: known.id),
            ]
        )
    }

    @Test("a refusal is a refusal, whether the client hears of it or not", arguments: [false, true])
    func refused(isHeard: Bool) async throws {
        let desk = try Desk { $0.atChoice = .no(.declined) }
        try desk.known("ada")
        #expect(await desk.sign().encoded == [0x27])
        if isHeard { try await desk.authenticator.delivered() } else { await desk.authenticator.ended() }
        #expect(noted(desk) == [ServedRequest(.signIn(desk.relyingParty), .declined)])
    }

    @Test("each end has its name")
    func ends() async throws {
        let silent = try Desk { $0.atConfirmation = .no(.timedOut) }
        #expect(try await silent.create().encoded == [0x2F])
        await silent.authenticator.ended()
        #expect(noted(silent).map(\.outcome) == [.unanswered])

        let full = try Desk()
        full.store.fail { $0.add = .notWritten("the disk is full") }
        #expect(try await full.create().encoded == [0x28])
        await full.authenticator.ended()
        #expect(noted(full).map(\.outcome) == [.failed])
    }

    @Test("a client that goes away while the person is asked is noted as gone")
    func cancelled() async throws {
        let asked = Signal()
        let desk = try Desk { $0.atChoice = .waits(asked) }
        try desk.known("ada")
        let request = desk.signIn()
        let task = Task { await desk.authenticator.answer(.getAssertion(request)) }
        await asked.wait()
        task.cancel()
        #expect(await task.value.encoded == [0x2D])
        await desk.authenticator.ended()
        #expect(noted(desk) == [ServedRequest(.signIn(desk.relyingParty), .clientGone)])
    }

    @Test("what ends before the store is open leaves nothing")
    func unopened() async throws {
        let desk = try Desk { $0.pins = ["1111", "2222", "3333"] }
        #expect(await desk.sign().encoded == [0x27])
        await desk.authenticator.ended()
        #expect(noted(desk) == [])
    }

    @Test("a history that can't be written changes no answer, deletes all the same, and is told")
    func unwritable() async throws {
        let desk = try Desk()
        let old = try desk.known("ada")
        desk.store.fail { $0.note = .notWritten("the disk is full") }
        #expect(try await desk.create().status == .success)
        try await desk.authenticator.delivered()
        #expect(!desk.store.passkeys.contains { $0.id == old.id })
        #expect(await desk.authenticator.historyFailure == .notWritten("the disk is full"))
        #expect(await desk.authenticator.lastFailure == nil && desk.journal.openStores == 0)
    }
}
