// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import TestSupport
import Testing

@Suite("Signing in with a passkey", .timeLimit(.minutes(10)))
struct SignInTests {
    @Test("A passkey of the allow list signs in, and the response has its user handle, but no names")
    func allowList() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada")
        try fixture.addPasskey("bob")
        let foreign = CredentialDescriptor(id: try #require(CredentialID(bytes: [1, 2, 3])))
        let response = await fixture.sign(allow: [foreign, known.descriptor])
        try await fixture.authenticator.responseDelivered()
        #expect(
            fixture.log.events == [
                .askedPIN(.signIn(fixture.relyingParty), nil), .opened, .searched(fixture.relyingParty),
                .chose([known.user], fixture.relyingParty),
                .recorded(UsageEntry(.signIn(fixture.relyingParty), .done, credential: known.id)), .locked,
            ]
        )
        let parsed = try GetAssertionResponse(parsing: response.body)
        #expect(parsed.credential == known.descriptor)
        #expect(parsed.user == UserEntity(id: known.user.id, name: "", displayName: ""))
        #expect(!parsed.userSelected)
        #expect(parsed.numberOfCredentials == nil)
        #expect(try fixture.verifies(parsed, by: known))
        #expect(await fixture.authenticator.fulfilledCount == 1)
    }

    @Test("A passkey that is not discoverable has no user in its response")
    func notDiscoverable() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada", discoverable: false)
        let parsed = try GetAssertionResponse(parsing: await fixture.sign(allow: [known.descriptor]).body)
        #expect(parsed.user == nil)
    }

    @Test(
        "The flags of the signed authenticator data are correct",
        arguments: [(false, false), (false, true), (true, false), (true, true)]
    )
    func flags(eligible: Bool, isBackedUp: Bool) async throws {
        let fixture = try AuthenticatorFixture(isBackedUp: isBackedUp)
        let known = try fixture.addPasskey("ada", eligible: eligible)
        let parsed = try GetAssertionResponse(parsing: await fixture.sign(allow: [known.descriptor]).body)
        let flags: UInt8 = 0x05 | (eligible ? 0x08 : 0) | (eligible && isBackedUp ? 0x10 : 0)
        let hash = Array(SHA256.hash(data: Array("example.com".utf8)))
        #expect(parsed.authenticatorData.encoded == hash + [flags, 0, 0, 0, 0])
        #expect(try fixture.verifies(parsed, by: known))
    }

    @Test("All accounts are offered, the newest first, and the chosen one is used", arguments: 0..<3)
    func discoverable(choice: Int) async throws {
        let fixture = try AuthenticatorFixture { $0.choice = choice }
        let passkeys = try ["ada", "bob", "eve"].map { try fixture.addPasskey($0) }
        try fixture.addPasskey("mallory", rp: "example.org")
        try fixture.addPasskey("mallory", rp: "login.example.com")
        let newest = Array(passkeys.reversed())
        let response = await fixture.sign()
        #expect(fixture.log.events.contains(.chose(newest.map(\.user), fixture.relyingParty)))
        let parsed = try GetAssertionResponse(parsing: response.body)
        let chosen = newest[choice]
        #expect(parsed.credential == chosen.descriptor)
        #expect(parsed.user == UserEntity(id: chosen.user.id, name: "", displayName: ""))
        #expect(parsed.userSelected)
        for passkey in newest { #expect(try fixture.verifies(parsed, by: passkey) == (passkey.id == chosen.id)) }
        let text = String(decoding: response.encoded, as: UTF8.self)
        #expect(!text.contains("@example.com"), "no names are sent")
    }

    @Test("A passkey is found in an allow list of any size and order", arguments: [1, 2, 300, 17000])
    func longLists(count: Int) async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada")
        var generator = SeededGenerator()
        var list = try (1..<count).map { number in
            // 17,000 IDs fit a message only with 32 bytes each.
            let length = count > 300 ? 32 : Int.random(in: 2...CredentialID.maximumLength, using: &generator)
            let bytes = [UInt8(number & 0xFF), UInt8(number >> 8)] + [UInt8](repeating: 3, count: length - 2)
            return CredentialDescriptor(id: try #require(CredentialID(bytes: bytes)))
        }
        // The same passkey three times.
        for _ in 0..<3 { list.insert(known.descriptor, at: Int.random(in: 0...list.count, using: &generator)) }
        let request = CTAPRequest.getAssertion(fixture.signIn(allow: list))
        // Encoded and parsed, so that the parser's limits apply, too.
        let response = await fixture.authenticator.answer(try CTAPRequest(parsing: request.encoded))
        let parsed = try GetAssertionResponse(parsing: response.body)
        #expect(parsed.credential == known.descriptor, "\(generator)")
        #expect(fixture.log.events.contains(.chose([known.user], fixture.relyingParty)))
        #expect(try fixture.verifies(parsed, by: known))
    }

    @Test("The response without an allow list is encoded as expected, without names")
    func discoveredBytes() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada", id: 9)
        let response = await fixture.sign()
        let signature = try GetAssertionResponse(parsing: response.body).signature
        var body: [UInt8] = [0xA5, 0x01, 0xA2, 0x62, 0x69, 0x64, 0x58, 0x20] + known.id.bytes
        body += [0x64] + Array("type".utf8) + [0x6A] + Array("public-key".utf8)
        body += [0x02, 0x58, 0x25] + Array(SHA256.hash(data: Array("example.com".utf8))) + [0x0D, 0, 0, 0, 0]
        body += [0x03, 0x58, UInt8(signature.count)] + signature
        body += [0x04, 0xA1, 0x62, 0x69, 0x64, 0x4D] + Array("handle of ada".utf8)
        body += [0x06, 0xF5]
        #expect(response.encoded == [0] + body)
    }

    @Test("Only accounts of the allow list are offered")
    func narrowed() async throws {
        let fixture = try AuthenticatorFixture { $0.choice = 1 }
        let ada = try fixture.addPasskey("ada")
        try fixture.addPasskey("bob")
        let eve = try fixture.addPasskey("eve")
        let parsed = try GetAssertionResponse(
            parsing: await fixture.sign(allow: [ada.descriptor, eve.descriptor]).body
        )
        #expect(fixture.log.events.contains(.chose([eve.user, ada.user], fixture.relyingParty)))
        #expect(parsed.credential == ada.descriptor)
    }

    @Test(
        "The user learns first that there is no passkey",
        arguments: ["none at all", "foreign IDs", "other site", "other type"]
    )
    func noPasskey(kind: String) async throws {
        let fixture = try AuthenticatorFixture()
        var allow: [CredentialDescriptor] = []
        if kind != "none at all" {
            let known = try fixture.addPasskey("ada", rp: kind == "other site" ? "example.org" : "example.com")
            switch kind {
            case "foreign IDs": allow = [CredentialDescriptor(id: try #require(CredentialID(bytes: [1, 2, 3])))]
            case "other type": allow = [CredentialDescriptor(id: known.id, type: "something-else")]
            default: allow = [known.descriptor]
            }
        }
        let stored = fixture.store.passkeys.count
        await fixture.expectFailure(await fixture.sign(allow: allow), 0x2E, .noPasskey, stored: stored)
        #expect(
            fixture.log.events == [
                .askedPIN(.signIn(fixture.relyingParty), nil), .opened, .searched(fixture.relyingParty),
                .notified(.noPasskey, fixture.relyingParty),
                .recorded(UsageEntry(.signIn(fixture.relyingParty), .noPasskey)), .locked,
            ]
        )
    }

    @Test("Passkeys of other sites are never offered, not even of a parent or child domain")
    func otherSites() async throws {
        let fixture = try AuthenticatorFixture()
        for site in ["com.example", "example.co", "login.example.com", "xexample.com"] {
            try fixture.addPasskey("ada", rp: site)
        }
        await fixture.expectFailure(await fixture.sign(), 0x2E, .noPasskey, stored: 4)
    }

    @Test("A silent request is rejected without a prompt")
    func silent() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada")
        for allow in [[], [known.descriptor]] {
            await fixture.expectFailure(
                await fixture.sign(allow: allow, userPresence: false),
                0x2B,
                .silentRequest,
                stored: 1
            )
        }
        #expect(fixture.log.events == [])
    }

    @Test("Nothing is signed if the user refuses any prompt", arguments: 0..<3)
    func declined(index: Int) async throws {
        let (refusal, status, failure) = CreationTests.refusals[index]
        let atPIN = try AuthenticatorFixture { $0.atPIN = .no(refusal) }
        try atPIN.addPasskey("ada")
        await atPIN.expectFailure(await atPIN.sign(), status, failure, stored: 1)
        #expect(atPIN.log.events == [.askedPIN(.signIn(atPIN.relyingParty), nil)])

        let atChoice = try AuthenticatorFixture { $0.atChoice = .no(refusal) }
        try atChoice.addPasskey("ada")
        await atChoice.expectFailure(await atChoice.sign(), status, failure, stored: 1)

        let atNotice = try AuthenticatorFixture { $0.atNotice = .no(refusal) }
        await atNotice.expectFailure(await atNotice.sign(), status, failure)
    }

    @Test("A choice out of range counts as a refusal", arguments: [-1, 1, 2, Int.max, Int.min])
    func choiceOutOfRange(choice: Int) async throws {
        let fixture = try AuthenticatorFixture { $0.choice = choice }
        try fixture.addPasskey("ada")
        await fixture.expectFailure(await fixture.sign(), 0x27, .declined, stored: 1)
    }

    @Test("A store that cannot be read is reported")
    func brokenStore() async throws {
        let fixture = try AuthenticatorFixture()
        try fixture.addPasskey("ada")
        fixture.store.fail { $0.find = .damaged("record 3 is damaged") }
        await fixture.expectFailure(await fixture.sign(), 0x7F, .storeUnusable("record 3 is damaged"), stored: 1)
    }
}
