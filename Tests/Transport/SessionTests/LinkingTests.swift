// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import HybridNetwork
import HybridPrimitives
import HybridThreads
import TestSupport
import Testing

@testable import HybridSession

@Suite("Links that a phone offers", .timeLimit(.minutes(10)))
struct LinkOfferTests {
    private let phone: LinkingPhone
    private let sample: LinkingRequest

    init() throws {
        phone = try LinkingPhone()
        sample = try LinkingRequest()
    }

    /// Performs the client's request, while the phone sends these updates and then its response.
    private func exchange(
        _ session: LinkingSession,
        _ updates: [LinkingInformation?]
    ) async throws -> (response: CTAPResponse, link: StoredLink?) {
        let ready = try await session.ready()
        let request = try sample.request(allowing: [sample.known])
        async let answer = ready.exchange(request, .seconds(60))
        guard case .ctap = try await session.phone.receive() else { throw TunnelError.messageRefused }
        for update in updates { try await session.phone.send(.update(update)) }
        try await session.phone.send(.ctap(sample.response(sample.known).encoded))
        guard case .shutdown = try await session.phone.receive() else { throw TunnelError.messageRefused }
        return try await answer
    }

    @Test("An authentic update is a link, with the tunnel domain of the session")
    func authentic() async throws {
        let session = try await LinkingSession.scanned(by: phone)
        let information = try phone.information(session.clientKey.publicKey, session.hash)
        let (response, link) = try await exchange(session, [nil, information])
        #expect(response.status == .success)
        let offered = try #require(link)
        #expect(offered.contactID == phone.contactKey.publicKey.contactID && offered.linkID == phone.linkID)
        #expect(offered.secret == phone.secret && offered.domain == phone.domain)
        #expect(offered.authenticatorKey.x963Representation == phone.key.publicKey.x963Representation)
        #expect(offered.name.description == "Pixel 8" && offered.requiresProof && !offered.info.isEmpty)
        #expect(offered.evidence == .unverified && offered.showedCode && offered.verifyingKey == nil)
    }

    @Test("An update whose proof is for another session or code is dropped, and the session continues")
    func notAuthentic() async throws {
        let session = try await LinkingSession.scanned(by: phone)
        let otherHash = try #require(HandshakeHash(bytes: [UInt8](repeating: 0, count: 32)))
        let otherKey = P256.KeyAgreement.PrivateKey().publicKey
        let (response, link) = try await exchange(
            session,
            [
                try phone.information(session.clientKey.publicKey, otherHash),
                try phone.information(otherKey, session.hash),
            ]
        )
        #expect(response.status == .success && link == nil)
    }

    @Test("An invalid update after a valid one does not remove the link")
    func invalidAfterValid() async throws {
        let session = try await LinkingSession.scanned(by: phone)
        let otherHash = try #require(HandshakeHash(bytes: [UInt8](repeating: 0, count: 32)))
        let (_, link) = try await exchange(
            session,
            [
                try phone.information(session.clientKey.publicKey, session.hash),
                try phone.information(session.clientKey.publicKey, otherHash), nil,
            ]
        )
        #expect(link != nil)
    }

    @Test("Updates are discarded if the code did not offer linking")
    func notOffered() async throws {
        let session = try await LinkingSession.scanned(by: phone, offersLinking: false)
        let information = try phone.information(session.clientKey.publicKey, session.hash)
        let (response, link) = try await exchange(session, [information])
        #expect(response.status == .success && link == nil)
    }

    @Test("Updates are discarded in a session with a linked phone")
    func linkedSession() async throws {
        let session = try await LinkingSession.contacting(phone)
        #expect(session.connected.verifier == nil)
        let information = try phone.information(session.clientKey.publicKey, session.hash)
        let (response, link) = try await exchange(session, [information])
        #expect(response.status == .success && link == nil)
    }

    @Test("An update after the response is awaited; other messages and the end of the channel end the wait")
    func late() async throws {
        let session = try await LinkingSession.scanned(by: phone)
        let ready = try await session.ready()
        async let early = ready.awaitLink(.seconds(60))
        try await session.phone.send(.update(nil))
        try await session.phone.send(.update(try phone.information(session.clientKey.publicKey, session.hash)))
        #expect(await early != nil)
        async let other = ready.awaitLink(.seconds(60))
        try await session.phone.send(.json([]))
        #expect(await other == nil)
        async let ended = ready.awaitLink(.seconds(60))
        session.phoneWire.end(.connectionLost)
        #expect(await ended == nil)
    }

    @Test("The wait for an update has a limit")
    func tooLate() async throws {
        let ready = try await LinkingSession.scanned(by: phone).ready()
        #expect(await ready.awaitLink(.milliseconds(1)) == nil)
    }

    @Test("Without a known key, only the website can verify an assertion by a credential of the request")
    func unverified() throws {
        let terms = LinkOfferPolicy()
        let request = try sample.request(allowing: [sample.known])
        #expect(terms.evidence(in: sample.response(sample.known), to: request) == .unverified)
        #expect(terms.evidence(in: sample.response(nil), to: request) == .unverified)
        #expect(terms.evidence(in: sample.response(sample.other), to: request) == nil)
        #expect(terms.evidence(in: .failure(.operationDenied), to: request) == nil)
        #expect(terms.evidence(in: .success([0xA0]), to: request) == nil)
        let site = try #require(RelyingPartyID("example.com"))
        #expect(terms.evidence(in: sample.response(sample.known, for: site), to: request) == nil)
        let two = try sample.request(allowing: [sample.known, sample.other])
        #expect(terms.evidence(in: sample.response(sample.other), to: two) == .unverified)
        #expect(terms.evidence(in: sample.response(nil), to: two) == nil)
        let any = try sample.request(allowing: [])
        #expect(terms.evidence(in: sample.response(sample.known), to: any) == nil)
    }

    @Test("A known key must verify the signature, which covers this request")
    func verified() throws {
        let key = P256.Signing.PrivateKey()
        let terms = LinkOfferPolicy { [sample] id, site in
            id == sample.known && site == sample.site ? COSEKey(key.publicKey) : nil
        }
        let request = try sample.request(allowing: [sample.known])
        let signed = try sample.response(sample.known, signedBy: key)
        #expect(terms.evidence(in: signed, to: request) == .verified)
        let any = try sample.request(allowing: [])
        #expect(terms.evidence(in: signed, to: any) == nil, "the request names no passkey")
        let invented = sample.response(sample.known)
        #expect(terms.evidence(in: invented, to: request) == nil)
        #expect(terms.evidence(in: invented, to: any) == nil)
        let stranger = try sample.response(sample.known, signedBy: P256.Signing.PrivateKey())
        #expect(terms.evidence(in: stranger, to: request) == nil)
        #expect(terms.evidence(in: try sample.response(sample.other, signedBy: key), to: request) == nil)
        let other = try sample.response(sample.known, signedBy: key, hash: 8)
        #expect(terms.evidence(in: other, to: request) == nil)
    }

    @Test("A registration is no evidence, even for the same website")
    func registration() throws {
        let handle = try #require(UserHandle(bytes: [1]))
        let creation = MakeCredentialRequest(
            clientDataHash: try #require(ClientDataHash(bytes: [UInt8](repeating: 7, count: 32))),
            relyingParty: RelyingPartyEntity(id: sample.site, name: "example"),
            user: UserEntity(id: handle, name: "ada", displayName: "Ada"),
            algorithms: [.es256],
            residentKey: true,
            userVerification: true
        )
        let terms = LinkOfferPolicy()
        #expect(terms.evidence(in: sample.response(sample.known), to: .makeCredential(creation)) == nil)
    }

    @Test("The name of a phone is made safe, and is never empty")
    func names() {
        #expect(PhoneName("Ada's \u{202E}phone\n").description == "Ada's phone")
        #expect(PhoneName("\u{200B}").description == "phone")
        let long = PhoneName(String(repeating: "x", count: 255))
        #expect(long.description.unicodeScalars.count <= 64 && PhoneName(long.description) == long)
        #expect(PhoneName("a \"b\"").quoted == "\"a 'b'\"")
    }
}

@Suite("Contacts with linked phones", .timeLimit(.minutes(10)))
struct LinkedContactTests {
    private let phone: LinkingPhone

    init() throws { phone = try LinkingPhone() }

    @Test("Message 1 is sent only after the advert, and the linked phone can answer it")
    func advertFirst() async throws {
        let contact = LinkedContact(phone.link(), hint: .getAssertion, LinkingPhone.claims)
        let (clientWire, phoneWire) = MemoryChannel.pair()
        let joined = Signal()
        let client = Task {
            let met = try await contact.meet(over: clientWire, join: { joined.fire() })
            return try await met.performHandshake(over: clientWire, .seconds(60))
        }
        await joined.wait()
        // The client waits for the advert now, unless it has already sent something.
        for _ in 0..<100 { await Task.yield() }
        #expect(clientWire.sent == 0)
        let sealed = phone.eid.sealed(with: contact.target.key)
        let advert = try #require(EID.open(sealed, with: contact.target.key, for: contact.target.ceremony))
        contact.advert.change { $0 = advert }
        let handshake = ResponderHandshake(
            authenticatorKey: phone.key,
            psk: phone.secret.psk(for: phone.eid),
            ephemeral: P256.KeyAgreement.PrivateKey()
        )
        let answer = try handshake.answer(try await phoneWire.receive { HandshakeMessage(bytes: $0.bytes) })
        try await phoneWire.send(WireMessage(bytes: answer.message2.bytes))
        #expect(try await client.value.verifier == nil)
    }

    @Test("Message 1 is sent before the phone joins, and the relay's report of that is awaited once")
    func advertBeforeJoining() async throws {
        let contact = LinkedContact(phone.link(), hint: .getAssertion, LinkingPhone.claims)
        let (clientWire, phoneWire) = MemoryChannel.pair()
        contact.advert.change { [phone] in $0 = phone.eid }
        let join: @Sendable () async throws -> Void = {
            try await clientWire.receive { $0.bytes == [0] ? () : nil }
        }
        let client = Task {
            let met = try await contact.meet(over: clientWire, join: join)
            return try await met.performHandshake(over: clientWire, .seconds(60)) {
                try await contact.waitUntilJoined(join)
            }
        }
        let message1 = try await phoneWire.receive { HandshakeMessage(bytes: $0.bytes) }
        let handshake = ResponderHandshake(
            authenticatorKey: phone.key,
            psk: phone.secret.psk(for: phone.eid),
            ephemeral: P256.KeyAgreement.PrivateKey()
        )
        let answer = try handshake.answer(message1)
        try await phoneWire.send(WireMessage(bytes: [0]))
        try await phoneWire.send(WireMessage(bytes: answer.message2.bytes))
        #expect(try await client.value.verifier == nil)
    }

    @Test("The end of the tunnel and a message before the handshake end the wait for the advert")
    func endOfTunnel() async throws {
        for isDeclined in [true, false] {
            let contact = LinkedContact(phone.link(), hint: .getAssertion, LinkingPhone.claims)
            let (clientWire, phoneWire) = MemoryChannel.pair()
            async let met = withDeadline(.seconds(60), orThrow: ClientFailure.phoneSilent) {
                try await contact.meet(over: clientWire, join: {})
            }
            if isDeclined {
                phoneWire.end(.phoneDeclined)
            } else {
                try await phoneWire.send(WireMessage(bytes: [0]))
            }
            let expected = isDeclined ? TunnelError.phoneDeclined : .messageRefused
            do {
                _ = try await met
                Issue.record("the phone was met without an advert")
            } catch let error as TunnelError {
                #expect(error == expected)
            }
        }
    }

    @Test("A device without the key of the linked phone can't answer")
    func otherPhone() async throws {
        let (clientWire, phoneWire) = MemoryChannel.pair()
        let contacted = ContactedPhone(link: phone.link(), eid: phone.eid)
        let connecting = Task { try await contacted.performHandshake(over: clientWire, .seconds(60)) }
        let message1 = try await phoneWire.receive { HandshakeMessage(bytes: $0.bytes) }
        let handshake = ResponderHandshake(
            authenticatorKey: P256.KeyAgreement.PrivateKey(),
            psk: phone.secret.psk(for: phone.eid),
            ephemeral: P256.KeyAgreement.PrivateKey()
        )
        #expect((try? handshake.answer(message1)) == nil)
        // Its own ephemeral key is of no use either.
        try await phoneWire.send(WireMessage(bytes: message1.bytes))
        await #expect(throws: HandshakeError.self) { _ = try await connecting.value }
    }

    @Test("Each contact has a nonce of its own, and proves the secret for the relay's host")
    func requests() throws {
        let link = phone.link()
        let contacts = (0..<2).map { _ in LinkedContact(link, hint: .makeCredential, LinkingPhone.claims) }
        let (one, other) = (contacts[0], contacts[1])
        #expect(one.request.nonce != other.request.nonce && one.request.hint == .makeCredential)
        #expect(one.request.provenClaims(secret: link.secret, host: link.domain.host) == LinkingPhone.claims)
        #expect(EID.open(phone.eid.sealed(with: one.target.key), with: other.target.key, for: .linked) == nil)
    }

    private func failure(_ error: any Error, contactID: ContactID? = nil) -> ClientFailure? {
        LinkedContact(phone.link(contactID: contactID), hint: .getAssertion, LinkingPhone.claims).failure(error)
            as? ClientFailure
    }

    @Test("Only the phone's signature for this relay removes a link of a relay of this project")
    func revocation() throws {
        let (key, host) = (phone.contactKey, phone.domain.host)
        let name = PhoneName("Pixel 8")
        func statement(_ key: ContactKey, _ host: String, of contactID: ContactID) -> TunnelError {
            .contactGone(
                ContactRevocation(publicKey: key.publicKey, signature: key.sign(.gone(host: host, contactID)))
            )
        }
        let contactID = key.publicKey.contactID
        let signed = failure(statement(key, host, of: contactID))
        #expect(signed == .linkGone(name) && signed?.removesLink == true)
        let other = ContactKey()
        for error in [
            .contactGone(nil), statement(key, "relay.example.org", of: contactID),
            statement(other, host, of: contactID), statement(other, host, of: other.publicKey.contactID),
        ] {
            let failure = failure(error)
            #expect(failure == .phoneUnreachable(name) && failure?.removesLink == false)
        }
        let foreign = try #require(ContactID(bytes: [9, 9]))
        #expect(failure(.contactGone(nil) as TunnelError, contactID: foreign) == .linkGone(name))
    }

    @Test("The end of a push subscription, which nothing proves, keeps the link")
    func unsubscribed() throws {
        let push = try #require(ContactID(bytes: [2] + [UInt8](repeating: 7, count: 199)))
        let failure = failure(.contactGone(nil) as TunnelError, contactID: push)
        #expect(failure == .phoneUnsubscribed(PhoneName("Pixel 8")))
        #expect(failure?.removesLink == false && failure?.namesPhone == true)
    }

    @Test("Other failures keep the link, and name the phone")
    func otherFailures() {
        let name = PhoneName("Pixel 8")
        #expect(failure(TunnelError.contactUnreachable) == .phoneUnreachable(name))
        #expect(failure(TunnelError.network(.refused(status: 502))) == .phoneUnreachable(name))
        #expect(failure(TunnelError.phoneDeclined) == .phoneDeclined(name))
        #expect(failure(HandshakeError.outOfOrder) == .notLinkedPhone(name))
        let contact = LinkedContact(phone.link(), hint: .getAssertion, LinkingPhone.claims)
        #expect(contact.failure(TunnelError.connectionLost) as? TunnelError == .connectionLost)
        #expect(contact.failure(CancellationError()) is CancellationError)
    }
}
