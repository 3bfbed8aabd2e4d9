// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import TestSupport
import Testing

@Suite("The history of requests", .timeLimit(.minutes(10)))
struct HistoryTests {
    private func recorded(_ fixture: AuthenticatorFixture) -> [UsageEntry] {
        fixture.log.events.compactMap { if case .recorded(let request) = $0 { request } else { nil } }
    }

    @Test("Nothing is recorded before the client has the response")
    func delivered() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada")
        #expect(await fixture.sign().status == .success)
        #expect(recorded(fixture) == [] && fixture.log.openStores == 1)
        try await fixture.authenticator.responseDelivered()
        #expect(recorded(fixture) == [UsageEntry(.signIn(fixture.relyingParty), .done, credential: known.id)])
        #expect(fixture.log.openStores == 0)
        try await fixture.authenticator.responseDelivered()
        await fixture.authenticator.sessionEnded()
        #expect(recorded(fixture).count == 1, "nothing is recorded twice")
    }

    @Test("A response that the client never receives is recorded as such, with its passkey")
    func lost() async throws {
        let fixture = try AuthenticatorFixture()
        #expect(try await fixture.create().status == .success)
        await fixture.authenticator.sessionEnded()
        let made = try #require(fixture.store.passkeys.first)
        #expect(recorded(fixture) == [UsageEntry(.create(fixture.relyingParty), .clientGone, credential: made.id)])
        #expect(fixture.log.openStores == 0)
        try await fixture.authenticator.responseDelivered()
        #expect(recorded(fixture).count == 1, "and cannot be delivered later")
    }

    @Test("A further request before delivery shows that the first response was lost")
    func followed() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada")
        #expect(await fixture.sign().status == .success)
        #expect(await fixture.sign().status == .success)
        try await fixture.authenticator.responseDelivered()
        #expect(
            recorded(fixture) == [
                UsageEntry(.signIn(fixture.relyingParty), .clientGone, credential: known.id),
                UsageEntry(.signIn(fixture.relyingParty), .done, credential: known.id),
            ]
        )
    }

    @Test("A refusal is recorded as a refusal, even if the client does not receive it", arguments: [false, true])
    func refused(isHeard: Bool) async throws {
        let fixture = try AuthenticatorFixture { $0.atChoice = .no(.declined) }
        try fixture.addPasskey("ada")
        #expect(await fixture.sign().encoded == [0x27])
        if isHeard {
            try await fixture.authenticator.responseDelivered()
        } else {
            await fixture.authenticator.sessionEnded()
        }
        #expect(recorded(fixture) == [UsageEntry(.signIn(fixture.relyingParty), .declined)])
    }

    @Test("Each outcome is recorded as what it is")
    func ends() async throws {
        let silent = try AuthenticatorFixture { $0.atConfirmation = .no(.timedOut) }
        #expect(try await silent.create().encoded == [0x2F])
        await silent.authenticator.sessionEnded()
        #expect(recorded(silent).map(\.outcome) == [.unanswered])

        let full = try AuthenticatorFixture()
        full.store.fail { $0.add = .notWritten("the disk is full") }
        #expect(try await full.create().encoded == [0x28])
        await full.authenticator.sessionEnded()
        #expect(recorded(full).map(\.outcome) == [.failed])
    }

    @Test("A client that disconnects during a prompt is recorded as gone")
    func cancelled() async throws {
        let asked = Signal()
        let fixture = try AuthenticatorFixture { $0.atChoice = .waits(asked) }
        try fixture.addPasskey("ada")
        let request = fixture.signIn()
        let task = Task { await fixture.authenticator.answer(.getAssertion(request)) }
        await asked.wait()
        task.cancel()
        #expect(await task.value.encoded == [0x2D])
        await fixture.authenticator.sessionEnded()
        #expect(recorded(fixture) == [UsageEntry(.signIn(fixture.relyingParty), .clientGone)])
    }

    @Test("A request that ends before the store is unlocked is not recorded")
    func unopened() async throws {
        let fixture = try AuthenticatorFixture { $0.pins = ["1111", "2222", "3333"] }
        #expect(await fixture.sign().encoded == [0x27])
        await fixture.authenticator.sessionEnded()
        #expect(recorded(fixture) == [])
    }

    @Test("A history that cannot be written is reported and changes nothing else")
    func unwritable() async throws {
        let fixture = try AuthenticatorFixture()
        let old = try fixture.addPasskey("ada")
        fixture.store.fail { $0.record = .notWritten("the disk is full") }
        #expect(try await fixture.create().status == .success)
        try await fixture.authenticator.responseDelivered()
        #expect(!fixture.store.passkeys.contains { $0.id == old.id })
        #expect(await fixture.authenticator.historyFailure == .notWritten("the disk is full"))
        #expect(await fixture.authenticator.lastFailure == nil && fixture.log.openStores == 0)
    }
}
