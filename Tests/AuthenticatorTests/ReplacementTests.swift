// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Testing

@Suite("Discoverable passkeys: which are, and which takes whose place", .timeLimit(.minutes(10)))
struct ReplacementTests {
    @Test("a passkey is discoverable if the site asked for that, and only then", arguments: [false, true])
    func residentKey(_ asked: Bool) async throws {
        let desk = try Desk()
        #expect(try await desk.create { $0.residentKey = asked }.status == .success)
        let stored = try #require(desk.store.passkeys.first)
        #expect(stored.isDiscoverable == asked)
        let discovered = await desk.sign()
        #expect(discovered.status == (asked ? .success : .noCredentials))
        let named = await desk.sign(allow: [stored.descriptor])
        #expect(named.status == .success, "who names it can use it")
        #expect(try desk.verifies(GetAssertionResponse(parsing: named.body), by: stored))
    }

    @Test("one that is not discoverable is on the exclude list like any other")
    func excluded() async throws {
        let desk = try Desk()
        let known = try desk.known("ada", discoverable: false)
        await desk.expectFailure(
            try await desk.create(exclude: [known.descriptor]),
            0x19,
            .alreadyRegistered,
            stored: 1
        )
    }

    @Test("a new discoverable passkey takes the place of the account's, after a consent that says so")
    func replaced() async throws {
        let desk = try Desk()
        // Made twice, as versions did that replaced nothing.
        let older = try desk.known("ada", id: 1)
        let old = try desk.known("ada", id: 2)
        try desk.known("bob")
        try desk.known("ada", rp: "example.org")
        // The same account has another name by now.
        let account = UserEntity(id: old.user.id, name: "ada@new.example", displayName: "")
        #expect(try await desk.create(user: account).status == .success)
        let new = try #require(desk.store.passkeys.first)
        #expect(desk.store.passkeys.count == 5, "both stay until the client has heard of the new one")
        try await desk.authenticator.delivered()
        #expect(
            desk.journal.events == [
                .askedPIN(.create(desk.relyingParty), nil), .opened, .looked(desk.relyingParty),
                .confirmed(account, desk.relyingParty, replacing: [old.user, older.user]),
                .added(new.id), .deleted([old.id, older.id]),
                .noted(ServedRequest(.create(desk.relyingParty), .done, credential: new.id)), .locked,
            ]
        )
        #expect(desk.store.passkeys.map(\.user.name) == ["ada@new.example", "ada@example.com", "bob@example.com"])
        #expect(await desk.sign(allow: [old.descriptor]).status == .noCredentials)
        #expect(await desk.sign(allow: [new.descriptor]).status == .success)
        try await desk.authenticator.delivered()
        #expect(desk.store.passkeys.count == 3, "a sign-in replaces nothing")
    }

    @Test("an answer that was sent and never shown to be heard replaces nothing, and the history has it as sent")
    func unheard() async throws {
        let desk = try Desk()
        let old = try desk.known("ada")
        #expect(try await desk.create().status == .success)
        let new = try #require(desk.store.passkeys.first)
        await desk.authenticator.sent()
        #expect(await !desk.authenticator.keptReplaced)
        await desk.authenticator.ended()
        #expect(await desk.authenticator.keptReplaced)
        #expect(desk.store.passkeys.map(\.id) == [new.id, old.id])
        #expect(
            desk.journal.events.suffix(2) == [
                .noted(ServedRequest(.create(desk.relyingParty), .done, credential: new.id)), .locked,
            ]
        )
        try await desk.authenticator.delivered()
        #expect(desk.store.passkeys.count == 2, "it is too late then")
    }

    @Test("where the client never hears of the new passkey, the old one stays and signs in")
    func undelivered() async throws {
        let desk = try Desk()
        let old = try desk.known("ada")
        #expect(try await desk.create().status == .success)
        #expect(await desk.sign(allow: [old.descriptor]).status == .success)
        try await desk.authenticator.delivered()
        #expect(desk.store.passkeys.count == 2, "what was not delivered then is not delivered later")
        #expect(desk.journal.openStores == 0)
    }

    @Test("an old passkey that can't be deleted is reported, and the new one is good")
    func undeletable() async throws {
        let desk = try Desk()
        let old = try desk.known("ada")
        desk.store.fail { $0.delete = .notWritten("the disk is full") }
        #expect(try await desk.create().status == .success)
        await #expect(throws: StoreFailure.notWritten("the disk is full")) { try await desk.authenticator.delivered() }
        #expect(desk.store.passkeys.map(\.id).last == old.id && desk.store.passkeys.count == 2)
        #expect(desk.journal.openStores == 0, "an opened store is locked again")
    }

    @Test("the account is known by its handle, byte for byte, and not by its name")
    func handles() async throws {
        let desk = try Desk()
        let known = try desk.known("ada")
        for handle in [Array("handle of ad".utf8), Array("handle of ada ".utf8), Array("Handle of ada".utf8)] {
            let id = try #require(UserHandle(bytes: handle))
            let account = UserEntity(id: id, name: known.user.name, displayName: "")
            #expect(try await desk.create(user: account).status == .success)
        }
        #expect(desk.store.passkeys.count == 4)
    }

    @Test("nothing is replaced by or instead of a passkey that is not discoverable")
    func besides() async throws {
        let desk = try Desk()
        let hidden = try desk.known("ada", id: 1, discoverable: false)
        let shown = try desk.known("ada", id: 2)
        #expect(try await desk.create { $0.residentKey = false }.status == .success)
        #expect(desk.store.passkeys.count == 3)
        #expect(try await desk.create().status == .success)
        try await desk.authenticator.delivered()
        #expect(desk.store.passkeys.count == 3)
        #expect(desk.store.passkeys.contains { $0.id == hidden.id })
        #expect(!desk.store.passkeys.contains { $0.id == shown.id })
    }

    @Test("who declines keeps the old passkey, and so does a full disk", arguments: [false, true])
    func kept(isFull: Bool) async throws {
        let desk = try Desk { if !isFull { $0.atConfirmation = .no(.declined) } }
        let old = try desk.known("ada")
        if isFull { desk.store.fail { $0.add = .notWritten("the disk is full") } }
        await desk.expectFailure(
            try await desk.create(),
            isFull ? 0x28 : 0x27,
            isFull ? .notSaved("the disk is full") : .declined,
            stored: 1
        )
        #expect(desk.store.passkeys.map(\.id) == [old.id])
    }
}
