// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import Testing

@Suite("Creating a passkey", .timeLimit(.minutes(10)))
struct CreationTests {
    @Test("Asks for the PIN with the RP ID, then for consent, and saves before it responds")
    func order() async throws {
        let fixture = try AuthenticatorFixture()
        let response = try await fixture.create(algorithms: [.rs256, .es256])
        #expect(response.status == .success)
        let stored = try #require(fixture.store.passkeys.first)
        try await fixture.authenticator.responseDelivered()
        #expect(
            fixture.log.events == [
                .askedPIN(.create(fixture.relyingParty), nil), .opened, .searched(fixture.relyingParty),
                .confirmed(try AuthenticatorFixture.account("ada"), fixture.relyingParty), .added(stored.id),
                .recorded(UsageEntry(.create(fixture.relyingParty), .done, credential: stored.id)), .locked,
            ]
        )
        #expect(stored.relyingParty == fixture.relyingParty)
        #expect(stored.user == (try AuthenticatorFixture.account("ada")))
        #expect(stored.isBackupEligible)
        #expect(await fixture.authenticator.fulfilledCount == 1)
        #expect(await fixture.authenticator.lastFailure == nil)
    }

    @Test("A known protection is in the signed outputs, and not in those of later uses", arguments: 0...4)
    func protection(number: Int) async throws {
        let fixture = try AuthenticatorFixture()
        let response = try await fixture.create { $0.extensions = ["credProtect": .integer(number)] }
        let made = try MakeCredentialResponse(parsing: response.body)
        let isKnown = 1...3 ~= number
        #expect(made.authenticatorData.extensions == (isKnown ? ["credProtect": .integer(number)] : nil))
        #expect(made.authenticatorData.flags.contains(.extensions) == isKnown)
        let stored = try #require(fixture.store.passkeys.first)
        let used = try GetAssertionResponse(parsing: await fixture.sign(allow: [stored.descriptor]).body)
        #expect(used.authenticatorData.extensions == nil)
    }

    @Test("The response is encoded as CTAP requires", arguments: [false, true])
    func bytes(isBackedUp: Bool) async throws {
        let fixture = try AuthenticatorFixture(isBackedUp: isBackedUp)
        let response = try await fixture.create { $0.attestationFormats = ["none"] }
        let stored = try #require(fixture.store.passkeys.first)
        let point = Array(stored.privateKey.publicKey.x963Representation)
        try #require(stored.id.bytes.count == 32)
        var data = Array(SHA256.hash(data: Array("example.com".utf8)))
        // UP, UV, BE, AT; no BS, because an existing backup does not contain this passkey.
        data += [0x4D, 0, 0, 0, 0]
        data += Authenticator.aaguid.bytes
        data += [0, 32]
        data += stored.id.bytes
        data += [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]
        data += point[1..<33]
        data += [0x22, 0x58, 0x20]
        data += point[33..<65]
        var body: [UInt8] = [0xA3, 0x01, 0x64]
        body += Array("none".utf8)
        body += [0x02, 0x58, UInt8(data.count)]
        body += data
        body += [0x03, 0xA0]
        #expect(response.encoded == [0] + body)
        let parsed = try MakeCredentialResponse(parsing: response.body)
        #expect(parsed.authenticatorData.attestedCredential?.publicKey.p256 != nil)
        #expect(parsed.authenticatorData.extensions == nil, "no extension is invented")

        let used = try GetAssertionResponse(parsing: await fixture.sign(allow: [stored.descriptor]).body)
        #expect(used.authenticatorData.encoded[32] == (isBackedUp ? 0x1D : 0x0D), "BS if there is a second copy")
    }

    @Test("Each passkey has its own ID and key and can sign in")
    func usable() async throws {
        let fixture = try AuthenticatorFixture()
        let first = try MakeCredentialResponse(parsing: try await fixture.create().body)
        let another = try AuthenticatorFixture.account("bob")
        let second = try MakeCredentialResponse(parsing: try await fixture.create(user: another).body)
        let (one, two) = (
            try #require(first.authenticatorData.attestedCredential),
            try #require(second.authenticatorData.attestedCredential)
        )
        #expect(one.id != two.id)
        #expect(one.publicKey != two.publicKey)
        let response = try GetAssertionResponse(
            parsing: await fixture.sign(allow: [CredentialDescriptor(id: one.id)]).body
        )
        let signature = try P256.Signing.ECDSASignature(derRepresentation: response.signature)
        let signed = response.authenticatorData.encoded + fixture.hash.bytes
        #expect(try #require(one.publicKey.p256).isValidSignature(signature, for: signed))
        #expect(try !#require(two.publicKey.p256).isValidSignature(signature, for: signed))
        #expect(await fixture.authenticator.fulfilledCount == 3)
    }

    @Test(
        "A request for ESP256 gets a key on P-256 with that number; the first of both numbers wins",
        arguments: [
            ([.esp256], -9), ([.rs256, .esp256, .es256], -9), ([.es256, .esp256], -7),
        ] as [([COSEAlgorithm], Int)]
    )
    func numbers(_ algorithms: [COSEAlgorithm], number: Int) async throws {
        let fixture = try AuthenticatorFixture()
        let response = try await fixture.create(algorithms: algorithms)
        let created = try MakeCredentialResponse(parsing: response.body)
        let key = try #require(created.authenticatorData.attestedCredential?.publicKey)
        let stored = try #require(fixture.store.passkeys.first)
        #expect(key.algorithm.rawValue == number)
        #expect(key.p256?.rawRepresentation == stored.privateKey.publicKey.rawRepresentation)
        #expect(created.attestationStatement["alg"] == .integer(number))
    }

    @Test(
        "Without a supported algorithm, the user is not asked",
        arguments: [[], [.edDSA], [.rs256, .edDSA]] as [[COSEAlgorithm]]
    )
    func algorithms(_ algorithms: [COSEAlgorithm]) async throws {
        let fixture = try AuthenticatorFixture()
        await fixture.expectFailure(try await fixture.create(algorithms: algorithms), 0x26, .noSupportedAlgorithm)
        #expect(fixture.log.events == [])
    }

    @Test("The user learns of an excluded passkey before the client does")
    func excluded() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada")
        let other = CredentialDescriptor(id: try #require(CredentialID(bytes: [1, 2, 3])))
        let response = try await fixture.create(exclude: [other, known.descriptor])
        await fixture.expectFailure(response, 0x19, .alreadyRegistered, stored: 1)
        #expect(
            fixture.log.events == [
                .askedPIN(.create(fixture.relyingParty), nil), .opened, .searched(fixture.relyingParty),
                .notified(.alreadyRegistered, fixture.relyingParty),
                .recorded(UsageEntry(.create(fixture.relyingParty), .alreadyRegistered)), .locked,
            ]
        )
    }

    @Test("An exclude list with other IDs, sites or types has no effect")
    func notExcluded() async throws {
        let fixture = try AuthenticatorFixture()
        let known = try fixture.addPasskey("ada")
        let elsewhere = try fixture.addPasskey("ada", rp: "example.org")
        let response = try await fixture.create(exclude: [
            CredentialDescriptor(id: try #require(CredentialID(bytes: [1, 2, 3]))), elsewhere.descriptor,
            CredentialDescriptor(id: known.id, type: "something-else"),
        ]) { $0.residentKey = false }
        #expect(response.status == .success)
        #expect(fixture.store.passkeys.count == 3)
    }

    static let refusals: [(UserRefusal, UInt8, AuthenticatorFailure)] = [
        (.declined, 0x27, .declined), (.timedOut, 0x2F, .userTimedOut),
        (.unavailable("no screen"), 0x27, .userUnavailable("no screen")),
    ]

    @Test("Nothing is saved if the user refuses any prompt", arguments: 0..<3)
    func declined(index: Int) async throws {
        let (refusal, status, failure) = Self.refusals[index]
        let atPIN = try AuthenticatorFixture { $0.atPIN = .no(refusal) }
        await atPIN.expectFailure(try await atPIN.create(), status, failure)
        #expect(atPIN.log.events == [.askedPIN(.create(atPIN.relyingParty), nil)], "the store stays locked")

        let atConsent = try AuthenticatorFixture { $0.atConfirmation = .no(refusal) }
        await atConsent.expectFailure(try await atConsent.create(), status, failure)

        let atNotice = try AuthenticatorFixture { $0.atNotice = .no(refusal) }
        let known = try atNotice.addPasskey("ada")
        let response = try await atNotice.create(exclude: [known.descriptor])
        await atNotice.expectFailure(response, status, failure, stored: 1)
    }

    @Test("A passkey that was not saved is a failure")
    func notSaved() async throws {
        let fixture = try AuthenticatorFixture()
        fixture.store.fail { $0.add = .notWritten("the disk is full") }
        await fixture.expectFailure(try await fixture.create(), 0x28, .notSaved("the disk is full"))
        fixture.store.fail { $0.add = nil }
        #expect(try await fixture.create().status == .success, "the next request is served")
        #expect(await fixture.authenticator.lastFailure == nil)
    }

    @Test("A passkey that is saved but not recorded on this device is a success, and is reported")
    func notRecorded() async throws {
        let fixture = try AuthenticatorFixture()
        fixture.store.fail { $0.add = .additionNotRecorded("the disk is full") }
        #expect(try await fixture.create().status == .success)
        #expect(fixture.store.passkeys.count == 1)
        #expect(await fixture.authenticator.recordingFailure == .additionNotRecorded("the disk is full"))
        #expect(await fixture.authenticator.lastFailure == nil)
    }

    @Test("A store that cannot be read or was locked too early is reported")
    func brokenStore() async throws {
        let fixture = try AuthenticatorFixture()
        fixture.store.fail { $0.find = .damaged("record 3 is damaged") }
        await fixture.expectFailure(try await fixture.create(), 0x7F, .storeUnusable("record 3 is damaged"))
        fixture.store.fail { $0.find = .locked }
        await fixture.expectFailure(
            try await fixture.create(),
            0x7F,
            .internalFault("the store was locked too early")
        )
    }
}
