// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Testing

@Suite("Discoverable passkeys and replacement", .timeLimit(.minutes(10)))
struct ReplacementTests {
    @Test("A passkey is discoverable only if the site requested it", arguments: [false, true])
    func residentKey(_ asked: Bool) async throws {
        let fixture = try AuthenticatorFixture()
        #expect(try await fixture.create { $0.residentKey = asked }.status == .success)
        let stored = try #require(fixture.store.passkeys.first)
        #expect(stored.isDiscoverable == asked)
        let discovered = await fixture.sign()
        #expect(discovered.status == (asked ? .success : .noCredentials))
        let named = await fixture.sign(allow: [stored.descriptor])
        #expect(named.status == .success, "a client that names it can use it")
        #expect(try fixture.verifies(GetAssertionResponse(parsing: named.body), by: stored))
    }

    @Test("A hidden passkey is used only if the site names it, and is still excluded")
    func hidden() async throws {
        let fixture = try AuthenticatorFixture()
        let hidden = try fixture.addPasskey("ada", hidden: true)
        #expect(await fixture.sign().status == .noCredentials)
        let named = await fixture.sign(allow: [hidden.descriptor])
        #expect(named.status == .success)
        #expect(try fixture.verifies(GetAssertionResponse(parsing: named.body), by: hidden))
        #expect(try await fixture.create(exclude: [hidden.descriptor]).status != .success)
        #expect(fixture.store.passkeys.map(\.id) == [hidden.id])
    }

    @Test("A new passkey does not replace a hidden one of its account")
    func hiddenIsKept() async throws {
        let fixture = try AuthenticatorFixture()
        let hidden = try fixture.addPasskey("ada", id: 1, hidden: true)
        let shown = try fixture.addPasskey("ada", id: 2)
        #expect(try await fixture.create().status == .success)
        let new = try #require(fixture.store.passkeys.first)
        try await fixture.authenticator.responseDelivered()
        #expect(Set(fixture.store.passkeys.map(\.id)) == [new.id, hidden.id])
        #expect(await fixture.sign(allow: [shown.descriptor]).status == .noCredentials)
    }

    @Test("The exclude list also matches passkeys that are not discoverable")
    func excluded() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada", discoverable: false)
        await fixture.expectFailure(
            try await fixture.create(exclude: [known.descriptor]),
            0x19,
            .alreadyRegistered,
            stored: 1
        )
    }

    @Test("A new discoverable passkey replaces those of its account, with consent")
    func replaced() async throws {
        let fixture = try AuthenticatorFixture()
        // Two passkeys of one account, from a version without replacement.
        let older = try fixture.addPasskey("ada", id: 1)
        let old = try fixture.addPasskey("ada", id: 2)
        try fixture.addPasskey("bob")
        try fixture.addPasskey("ada", rp: "example.org")
        // The name of the account has changed.
        let account = UserEntity(id: old.user.id, name: "ada@new.example", displayName: "")
        #expect(try await fixture.create(user: account).status == .success)
        let new = try #require(fixture.store.passkeys.first)
        #expect(fixture.store.passkeys.count == 5, "both stay until the client has the new one")
        try await fixture.authenticator.responseDelivered()
        #expect(
            fixture.log.events == [
                .askedPIN(.create(fixture.relyingParty), nil), .opened, .searched(fixture.relyingParty),
                .confirmed(account, fixture.relyingParty, replacing: [old.user, older.user]),
                .added(new.id), .deleted([old.id, older.id]),
                .recorded(UsageEntry(.create(fixture.relyingParty), .done, credential: new.id)), .locked,
            ]
        )
        #expect(fixture.store.passkeys.map(\.user.name) == ["ada@new.example", "ada@example.com", "bob@example.com"])
        #expect(await fixture.sign(allow: [old.descriptor]).status == .noCredentials)
        #expect(await fixture.sign(allow: [new.descriptor]).status == .success)
        try await fixture.authenticator.responseDelivered()
        #expect(fixture.store.passkeys.count == 3, "a sign-in replaces nothing")
    }

    @Test("A response that was sent but not confirmed replaces nothing and is recorded as sent")
    func unheard() async throws {
        let fixture = try AuthenticatorFixture()
        let old = try fixture.addPasskey("ada")
        #expect(try await fixture.create().status == .success)
        let new = try #require(fixture.store.passkeys.first)
        await fixture.authenticator.responseSent()
        #expect(await !fixture.authenticator.keptReplaced)
        await fixture.authenticator.sessionEnded()
        #expect(await fixture.authenticator.keptReplaced)
        #expect(fixture.store.passkeys.map(\.id) == [new.id, old.id])
        #expect(
            fixture.log.events.suffix(2) == [
                .recorded(UsageEntry(.create(fixture.relyingParty), .done, credential: new.id)), .locked,
            ]
        )
        try await fixture.authenticator.responseDelivered()
        #expect(fixture.store.passkeys.count == 2, "it cannot be delivered later")
    }

    @Test("If the client never receives the new passkey, the old one stays and can sign in")
    func undelivered() async throws {
        let fixture = try AuthenticatorFixture()
        let old = try fixture.addPasskey("ada")
        #expect(try await fixture.create().status == .success)
        #expect(await fixture.sign(allow: [old.descriptor]).status == .success)
        try await fixture.authenticator.responseDelivered()
        #expect(fixture.store.passkeys.count == 2, "it cannot be delivered later")
        #expect(fixture.log.openStores == 0)
    }

    @Test("An old passkey that cannot be deleted is reported, and the new one works")
    func undeletable() async throws {
        let fixture = try AuthenticatorFixture()
        let old = try fixture.addPasskey("ada")
        fixture.store.fail { $0.delete = .notWritten("the disk is full") }
        #expect(try await fixture.create().status == .success)
        await #expect(throws: StoreFailure.notWritten("the disk is full")) {
            try await fixture.authenticator.responseDelivered()
        }
        #expect(fixture.store.passkeys.map(\.id).last == old.id && fixture.store.passkeys.count == 2)
        #expect(fixture.log.openStores == 0, "an unlocked store is locked again")
    }

    @Test("An account is identified by the bytes of its handle, not by its name")
    func handles() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada")
        for handle in [Array("handle of ad".utf8), Array("handle of ada ".utf8), Array("Handle of ada".utf8)] {
            let id = try #require(UserHandle(bytes: handle))
            let account = UserEntity(id: id, name: known.user.name, displayName: "")
            #expect(try await fixture.create(user: account).status == .success)
        }
        #expect(fixture.store.passkeys.count == 4)
    }

    @Test("A passkey that is not discoverable neither replaces nor is replaced")
    func besides() async throws {
        let fixture = try AuthenticatorFixture()
        let hidden = try fixture.addPasskey("ada", id: 1, discoverable: false)
        let shown = try fixture.addPasskey("ada", id: 2)
        #expect(try await fixture.create { $0.residentKey = false }.status == .success)
        #expect(fixture.store.passkeys.count == 3)
        #expect(try await fixture.create().status == .success)
        try await fixture.authenticator.responseDelivered()
        #expect(fixture.store.passkeys.count == 3)
        #expect(fixture.store.passkeys.contains { $0.id == hidden.id })
        #expect(!fixture.store.passkeys.contains { $0.id == shown.id })
    }

    @Test("The old passkey stays if the user declines or the disk is full", arguments: [false, true])
    func kept(isFull: Bool) async throws {
        let fixture = try AuthenticatorFixture { if !isFull { $0.atConfirmation = .no(.declined) } }
        let old = try fixture.addPasskey("ada")
        if isFull { fixture.store.fail { $0.add = .notWritten("the disk is full") } }
        await fixture.expectFailure(
            try await fixture.create(),
            isFull ? 0x28 : 0x27,
            isFull ? .notSaved("the disk is full") : .declined,
            stored: 1
        )
        #expect(fixture.store.passkeys.map(\.id) == [old.id])
    }
}
