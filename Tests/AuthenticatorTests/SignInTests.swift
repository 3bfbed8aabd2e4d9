// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import TestSupport
import Testing

@Suite("Signing in with a passkey", .timeLimit(.minutes(10)))
struct SignInTests {
    @Test("finds a passkey of the allow list, asks, and names nobody in the answer")
    func allowList() async throws {
        let desk = try Desk()
        let known = try desk.known("ada")
        try desk.known("bob")
        let foreign = CredentialDescriptor(id: try #require(CredentialID(bytes: [1, 2, 3])))
        let response = await desk.sign(allow: [foreign, known.descriptor])
        try await desk.authenticator.delivered()
        #expect(
            desk.journal.events == [
                .askedPIN(.signIn(desk.relyingParty), nil), .opened, .looked(desk.relyingParty),
                .chose([known.user], desk.relyingParty),
                .noted(ServedRequest(.signIn(desk.relyingParty), .done, credential: known.id)), .locked,
            ]
        )
        let parsed = try GetAssertionResponse(parsing: response.body)
        #expect(parsed.credential == known.descriptor)
        #expect(parsed.user == nil)
        #expect(!parsed.userSelected)
        #expect(parsed.numberOfCredentials == nil)
        #expect(try desk.verifies(parsed, by: known))
        #expect(await desk.authenticator.fulfilled == 1)
    }

    @Test(
        "signs authenticator data with truthful flags",
        arguments: [(false, false), (false, true), (true, false), (true, true)]
    )
    func flags(eligible: Bool, isBackedUp: Bool) async throws {
        let desk = try Desk(isBackedUp: isBackedUp)
        let known = try desk.known("ada", eligible: eligible)
        let parsed = try GetAssertionResponse(parsing: await desk.sign(allow: [known.descriptor]).body)
        let flags: UInt8 = 0x05 | (eligible ? 0x08 : 0) | (eligible && isBackedUp ? 0x10 : 0)
        let hash = Array(SHA256.hash(data: Array("example.com".utf8)))
        #expect(parsed.authenticatorData.encoded == hash + [flags, 0, 0, 0, 0])
        #expect(try desk.verifies(parsed, by: known))
    }

    @Test("offers every account, the newest first, and uses the one chosen", arguments: 0..<3)
    func discoverable(choice: Int) async throws {
        let desk = try Desk { $0.choice = choice }
        let passkeys = try ["ada", "bob", "eve"].map { try desk.known($0) }
        try desk.known("mallory", rp: "example.org")
        try desk.known("mallory", rp: "login.example.com")
        let newest = Array(passkeys.reversed())
        let response = await desk.sign()
        #expect(desk.journal.events.contains(.chose(newest.map(\.user), desk.relyingParty)))
        let parsed = try GetAssertionResponse(parsing: response.body)
        let chosen = newest[choice]
        #expect(parsed.credential == chosen.descriptor)
        #expect(parsed.user == UserEntity(id: chosen.user.id, name: "", displayName: ""))
        #expect(parsed.userSelected)
        for passkey in newest { #expect(try desk.verifies(parsed, by: passkey) == (passkey.id == chosen.id)) }
        let text = String(decoding: response.encoded, as: UTF8.self)
        #expect(!text.contains("@example.com"), "names stay here")
    }

    @Test("finds one passkey in a list of any size and order", arguments: [1, 2, 300, 17000])
    func longLists(count: Int) async throws {
        let desk = try Desk()
        let known = try desk.known("ada")
        var generator = SeededGenerator()
        var list = try (1..<count).map { number in
            // As many as the largest message holds have 32 bytes each.
            let length = count > 300 ? 32 : Int.random(in: 2...CredentialID.maximumLength, using: &generator)
            let bytes = [UInt8(number & 0xFF), UInt8(number >> 8)] + [UInt8](repeating: 3, count: length - 2)
            return CredentialDescriptor(id: try #require(CredentialID(bytes: bytes)))
        }
        // Named three times over, it is one passkey still.
        for _ in 0..<3 { list.insert(known.descriptor, at: Int.random(in: 0...list.count, using: &generator)) }
        let request = CTAPRequest.getAssertion(desk.signIn(allow: list))
        // Through the bytes, so that the parser's bounds are met as well.
        let response = await desk.authenticator.answer(try CTAPRequest(parsing: request.encoded))
        let parsed = try GetAssertionResponse(parsing: response.body)
        #expect(parsed.credential == known.descriptor, "\(generator)")
        #expect(desk.journal.events.contains(.chose([known.user], desk.relyingParty)))
        #expect(try desk.verifies(parsed, by: known))
    }

    @Test("answers a sign-in without a list with these bytes: no names, chosen here, one alone")
    func discoveredBytes() async throws {
        let desk = try Desk()
        let known = try desk.known("ada", id: 9)
        let response = await desk.sign()
        let signature = try GetAssertionResponse(parsing: response.body).signature
        var body: [UInt8] = [0xA5, 0x01, 0xA2, 0x62, 0x69, 0x64, 0x58, 0x20] + known.id.bytes
        body += [0x64] + Array("type".utf8) + [0x6A] + Array("public-key".utf8)
        body += [0x02, 0x58, 0x25] + Array(SHA256.hash(data: Array("example.com".utf8))) + [0x0D, 0, 0, 0, 0]
        body += [0x03, 0x58, UInt8(signature.count)] + signature
        body += [0x04, 0xA3, 0x62, 0x69, 0x64, 0x4D] + Array("handle of ada".utf8)
        body += [0x64] + Array("name".utf8) + [0x60, 0x6B] + Array("displayName".utf8) + [0x60]
        body += [0x06, 0xF5]
        #expect(response.encoded == [0] + body)
    }

    @Test("chooses among those of the allow list alone")
    func narrowed() async throws {
        let desk = try Desk { $0.choice = 1 }
        let ada = try desk.known("ada")
        try desk.known("bob")
        let eve = try desk.known("eve")
        let parsed = try GetAssertionResponse(
            parsing: await desk.sign(allow: [ada.descriptor, eve.descriptor]).body
        )
        #expect(desk.journal.events.contains(.chose([eve.user, ada.user], desk.relyingParty)))
        #expect(parsed.credential == ada.descriptor)
    }

    @Test(
        "tells the person first that there is no passkey",
        arguments: ["none at all", "foreign IDs", "other site", "other type"]
    )
    func noPasskey(kind: String) async throws {
        let desk = try Desk()
        var allow: [CredentialDescriptor] = []
        if kind != "none at all" {
            let known = try desk.known("ada", rp: kind == "other site" ? "example.org" : "example.com")
            switch kind {
            case "foreign IDs": allow = [CredentialDescriptor(id: try #require(CredentialID(bytes: [1, 2, 3])))]
            case "other type": allow = [CredentialDescriptor(id: known.id, type: "something-else")]
            default: allow = [known.descriptor]
            }
        }
        let stored = desk.store.passkeys.count
        await desk.expectFailure(await desk.sign(allow: allow), 0x2E, .noPasskey, stored: stored)
        #expect(
            desk.journal.events == [
                .askedPIN(.signIn(desk.relyingParty), nil), .opened, .looked(desk.relyingParty),
                .told(.noPasskey, desk.relyingParty),
                .noted(ServedRequest(.signIn(desk.relyingParty), .noPasskey)), .locked,
            ]
        )
    }

    @Test("never offers the passkey of another site, not even of a parent or a child")
    func otherSites() async throws {
        let desk = try Desk()
        for site in ["com.example", "example.co", "login.example.com", "xexample.com"] {
            try desk.known("ada", rp: site)
        }
        await desk.expectFailure(await desk.sign(), 0x2E, .noPasskey, stored: 4)
    }

    @Test("refuses to answer silently, without a question")
    func silent() async throws {
        let desk = try Desk()
        let known = try desk.known("ada")
        for allow in [[], [known.descriptor]] {
            await desk.expectFailure(
                await desk.sign(allow: allow, userPresence: false),
                0x2B,
                .silentRequest,
                stored: 1
            )
        }
        #expect(desk.journal.events == [])
    }

    @Test("signs nothing for a person who does not agree, at whichever question", arguments: 0..<3)
    func declined(index: Int) async throws {
        let (refusal, status, failure) = CreationTests.refusals[index]
        let atPIN = try Desk { $0.atPIN = .no(refusal) }
        try atPIN.known("ada")
        await atPIN.expectFailure(await atPIN.sign(), status, failure, stored: 1)
        #expect(atPIN.journal.events == [.askedPIN(.signIn(atPIN.relyingParty), nil)])

        let atChoice = try Desk { $0.atChoice = .no(refusal) }
        try atChoice.known("ada")
        await atChoice.expectFailure(await atChoice.sign(), status, failure, stored: 1)

        let atNotice = try Desk { $0.atNotice = .no(refusal) }
        await atNotice.expectFailure(await atNotice.sign(), status, failure)
    }

    @Test("takes a choice that was not offered for a no", arguments: [-1, 1, 2, Int.max, Int.min])
    func choiceOutOfRange(choice: Int) async throws {
        let desk = try Desk { $0.choice = choice }
        try desk.known("ada")
        await desk.expectFailure(await desk.sign(), 0x27, .declined, stored: 1)
    }

    @Test("reports a store that can't be read")
    func brokenStore() async throws {
        let desk = try Desk()
        try desk.known("ada")
        desk.store.fail { $0.look = .damaged("record 3 is damaged") }
        await desk.expectFailure(await desk.sign(), 0x7F, .storeUnusable("record 3 is damaged"), stored: 1)
    }
}
