// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import Testing

@Suite("Creating a passkey", .timeLimit(.minutes(10)))
struct CreationTests {
    @Test("asks for the PIN under the relying party's name, then for consent, and stores before it answers")
    func order() async throws {
        let desk = try Desk()
        let response = try await desk.create(algorithms: [.rs256, .es256])
        #expect(response.status == .success)
        let stored = try #require(desk.store.passkeys.first)
        try await desk.authenticator.delivered()
        #expect(
            desk.journal.events == [
                .askedPIN(.create(desk.relyingParty), nil), .opened, .looked(desk.relyingParty),
                .confirmed(try Desk.account("ada"), desk.relyingParty), .added(stored.id),
                .noted(ServedRequest(.create(desk.relyingParty), .done, credential: stored.id)), .locked,
            ]
        )
        #expect(stored.relyingParty == desk.relyingParty)
        #expect(stored.user == (try Desk.account("ada")))
        #expect(stored.isBackupEligible)
        #expect(await desk.authenticator.fulfilled == 1)
        #expect(await desk.authenticator.lastFailure == nil)
    }

    @Test("answers with the bytes that CTAP asks for", arguments: [false, true])
    func bytes(isBackedUp: Bool) async throws {
        let desk = try Desk(isBackedUp: isBackedUp)
        let response = try await desk.create { $0.attestationFormats = ["none"] }
        let stored = try #require(desk.store.passkeys.first)
        let point = Array(stored.privateKey.publicKey.x963Representation)
        try #require(stored.id.bytes.count == 32)
        let key: [UInt8] =
            [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + point[1..<33] + [0x22, 0x58, 0x20]
            + point[33..<65]
        let data: [UInt8] =
            Array(SHA256.hash(data: Array("example.com".utf8)))
            // UP, UV, BE, AT; no BS, as a backup that was made before does not hold this one.
            + [0x4D]
            + [0, 0, 0, 0]
            + Authenticator.aaguid.bytes
            + [0, 32] + stored.id.bytes
            + key
        let body: [UInt8] =
            [0xA3, 0x01, 0x64] + Array("none".utf8) + [0x02, 0x58, UInt8(data.count)] + data + [0x03, 0xA0]
        #expect(response.encoded == [0] + body)
        let parsed = try MakeCredentialResponse(parsing: response.body)
        #expect(parsed.authenticatorData.attestedCredential?.publicKey.p256 != nil)
        #expect(parsed.authenticatorData.extensions == nil, "extensions asked for are not made up")

        let used = try GetAssertionResponse(parsing: await desk.sign(allow: [stored.descriptor]).body)
        #expect(used.authenticatorData.encoded[32] == (isBackedUp ? 0x1D : 0x0D), "BS where there is a second copy")
    }

    @Test("makes a key that signs in, and another ID and key each time")
    func usable() async throws {
        let desk = try Desk()
        let first = try MakeCredentialResponse(parsing: try await desk.create().body)
        let another = try Desk.account("bob")
        let second = try MakeCredentialResponse(parsing: try await desk.create(user: another).body)
        let (one, two) = (
            try #require(first.authenticatorData.attestedCredential),
            try #require(second.authenticatorData.attestedCredential)
        )
        #expect(one.id != two.id)
        #expect(one.publicKey != two.publicKey)
        let response = try GetAssertionResponse(
            parsing: await desk.sign(allow: [CredentialDescriptor(id: one.id)]).body
        )
        let signature = try P256.Signing.ECDSASignature(derRepresentation: response.signature)
        let signed = response.authenticatorData.encoded + desk.hash.bytes
        #expect(try #require(one.publicKey.p256).isValidSignature(signature, for: signed))
        #expect(try !#require(two.publicKey.p256).isValidSignature(signature, for: signed))
        #expect(await desk.authenticator.fulfilled == 3)
    }

    @Test("asks nobody where no algorithm fits", arguments: [[], [.edDSA], [.rs256, .edDSA]] as [[COSEAlgorithm]])
    func algorithms(_ algorithms: [COSEAlgorithm]) async throws {
        let desk = try Desk()
        await desk.expectFailure(try await desk.create(algorithms: algorithms), 0x26, .noSupportedAlgorithm)
        #expect(desk.journal.events == [])
    }

    @Test("tells the person about an excluded passkey before the client")
    func excluded() async throws {
        let desk = try Desk()
        let known = try desk.known("ada")
        let other = CredentialDescriptor(id: try #require(CredentialID(bytes: [1, 2, 3])))
        let response = try await desk.create(exclude: [other, known.descriptor])
        await desk.expectFailure(response, 0x19, .alreadyRegistered, stored: 1)
        #expect(
            desk.journal.events == [
                .askedPIN(.create(desk.relyingParty), nil), .opened, .looked(desk.relyingParty),
                .told(.alreadyRegistered, desk.relyingParty),
                .noted(ServedRequest(.create(desk.relyingParty), .alreadyRegistered)), .locked,
            ]
        )
    }

    @Test("lets an exclude list be that hits nothing: other IDs, other sites, other types")
    func notExcluded() async throws {
        let desk = try Desk()
        let known = try desk.known("ada")
        let elsewhere = try desk.known("ada", rp: "example.org")
        let response = try await desk.create(exclude: [
            CredentialDescriptor(id: try #require(CredentialID(bytes: [1, 2, 3]))), elsewhere.descriptor,
            CredentialDescriptor(id: known.id, type: "something-else"),
        ]) { $0.residentKey = false }
        #expect(response.status == .success)
        #expect(desk.store.passkeys.count == 3)
    }

    static let refusals: [(UserRefusal, UInt8, AuthenticatorFailure)] = [
        (.declined, 0x27, .declined), (.timedOut, 0x2F, .userTimedOut),
        (.unavailable("no screen"), 0x27, .userUnavailable("no screen")),
    ]

    @Test("stores nothing for a person who does not agree, at whichever question", arguments: 0..<3)
    func declined(index: Int) async throws {
        let (refusal, status, failure) = Self.refusals[index]
        let atPIN = try Desk { $0.atPIN = .no(refusal) }
        await atPIN.expectFailure(try await atPIN.create(), status, failure)
        #expect(atPIN.journal.events == [.askedPIN(.create(atPIN.relyingParty), nil)], "the store stays shut")

        let atConsent = try Desk { $0.atConfirmation = .no(refusal) }
        await atConsent.expectFailure(try await atConsent.create(), status, failure)

        let atNotice = try Desk { $0.atNotice = .no(refusal) }
        let known = try atNotice.known("ada")
        let response = try await atNotice.create(exclude: [known.descriptor])
        await atNotice.expectFailure(response, status, failure, stored: 1)
    }

    @Test("reports no success where the passkey was not saved")
    func notSaved() async throws {
        let desk = try Desk()
        desk.store.fail { $0.add = .notWritten("the disk is full") }
        await desk.expectFailure(try await desk.create(), 0x28, .notSaved("the disk is full"))
        desk.store.fail { $0.add = nil }
        #expect(try await desk.create().status == .success, "the next request is served")
        #expect(await desk.authenticator.lastFailure == nil)
    }

    @Test("reports a store that can't be read or was locked too early")
    func brokenStore() async throws {
        let desk = try Desk()
        desk.store.fail { $0.look = .damaged("record 3 is damaged") }
        await desk.expectFailure(try await desk.create(), 0x7F, .storeUnusable("record 3 is damaged"))
        desk.store.fail { $0.look = .locked }
        await desk.expectFailure(
            try await desk.create(),
            0x7F,
            .internalFault("the store was locked too early")
        )
    }
}
