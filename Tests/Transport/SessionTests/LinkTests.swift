// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCaBLE
import HybridDataChannel
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridSession

@Suite("The authenticator's part of a link", .timeLimit(.minutes(5)))
struct LinkTests {
    private static func link() throws -> PhoneLink { PhoneLink(at: try #require(TunnelDomain(id: 266))) }

    private static func offer(_ key: P256.KeyAgreement.PrivateKey, supportsLinking: Bool) -> QROffer {
        var random = SystemRandomNumberGenerator()
        return QROffer(
            clientKey: key.publicKey,
            secret: QRSecret(using: &random),
            created: 1_700_000_000,
            hint: .getAssertion,
            supportsLinking: supportsLinking
        )
    }

    /// Performs a handshake with the client whose code was scanned, and returns its hash and the update.
    private static func session(
        _ offer: QROffer,
        _ key: P256.KeyAgreement.PrivateKey,
        _ linking: LinkOffer?
    ) throws
        -> (hash: HandshakeHash, update: ChannelMessage?)
    {
        let domain = try #require(TunnelDomain(id: 266))
        let pending = PendingClientConnection(
            keys: offer.keys,
            supportsLinking: offer.supportsLinking == true,
            linking: linking,
            domain: domain,
            tunnel: nil,
            acceptingSocket: nil
        )
        let psk = offer.secret.psk(for: pending.eid)
        let ephemeral = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let initiator = try InitiatorHandshake(clientKey: key, psk: psk, ephemeral: ephemeral)
        let answer = try ResponderHandshake(
            clientKey: offer.clientKey,
            psk: psk,
            ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        ).answer(initiator.message1)
        let hash = answer.keys.handshakeHash
        return (hash, pending.update(hash))
    }

    @Test(
        "A client that supports linking gets an update of 512 bytes, with or without a link",
        arguments: [true, false]
    )
    func update(isLinked: Bool) throws {
        let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let link = try Self.link()
        let linking = LinkOffer(link, from: PhoneIdentity(), name: "phone")
        let session = try Self.session(Self.offer(key, supportsLinking: true), key, isLinked ? linking : nil)
        guard case .update(let information)? = session.update else {
            Issue.record("no update")
            return
        }
        let length = try #require(session.update).encoded.count
        #expect((480...511).contains(length), "the frame pads it to 512 bytes")
        #expect((information != nil) == isLinked)
        guard let information else { return }
        #expect(information.isAuthentic(clientKey: key, handshakeHash: session.hash))
        #expect(information.announcesProof && information.linkID == link.id && information.secret == link.secret)
        #expect(information.contactID == link.contactKey.publicKey.contactID && information.name == "phone")
    }

    @Test("A client that does not support linking gets no update, even if the user wants a link")
    func noUpdate() throws {
        let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let linking = LinkOffer(try Self.link(), from: PhoneIdentity(), name: "phone")
        #expect(try Self.session(Self.offer(key, supportsLinking: false), key, linking).update == nil)
    }

    @Test("An identity survives its stored form")
    func identity() throws {
        let identity = PhoneIdentity()
        let bytes = identity.withUnsafeBytes { Array($0) }
        let again = try #require(PhoneIdentity(bytes: bytes))
        #expect(again.key.publicKey.x963Representation == identity.key.publicKey.x963Representation)
        #expect(PhoneIdentity(bytes: bytes.dropLast()) == nil)
        #expect(PhoneIdentity(bytes: [UInt8](repeating: 0, count: 32)) == nil)
    }

    @Test("The advert of a linked session never contains a tunnel domain that is not assigned")
    func redraw() {
        // Each number is the source of one 16-bit number or byte: node, check, then tunnel domains.
        for number in [2, 100, 255] as [UInt64] {
            for _ in 0..<20 {
                var generator = SmallDomains(number: number)
                let eid = LinkedClientConnection.eid(using: &generator)
                #expect(eid.domain != nil && eid.domainID != UInt16(number))
            }
        }
    }

    /// A generator whose first numbers are all the same, in whichever way a range reduces them.
    private struct SmallDomains: RandomNumberGenerator {
        let number: UInt64
        var count = 0
        var others = SeededGenerator()

        mutating func next() -> UInt64 {
            count += 1
            // A full range of 16 bits takes the low bits of a number.
            return count <= 8 ? number : others.next()
        }
    }

    @Test("A wake-up is verified with the secret and the relay of its link, and served after approval only")
    func wakeUp() async throws {
        let (link, other) = (try Self.link(), try Self.link())
        var random = SystemRandomNumberGenerator()
        func wake(_ link: PhoneLink, id: LinkID, host: String, proves: Bool = true) throws -> ContactWakeUp {
            let request = ContactRequest(
                linkID: id,
                secret: link.secret,
                hint: .makeCredential,
                host: host,
                claims: proves ? ContactClaims(number: 5, time: 6, requester: .guest) : nil,
                using: &random
            )
            let tunnel = try #require(TunnelID(bytes: [UInt8](repeating: 1, count: 16)))
            return ContactWakeUp(
                number: 1,
                routing: RoutingID(node: 0, check: 0),
                tunnel: tunnel,
                payload: request.payload,
                seconds: 30
            )
        }
        let host = link.domain.host
        let verified = VerifiedWakeUp(try wake(link, id: link.id, host: host), for: link)
        #expect(verified?.hint == .makeCredential)
        #expect(verified?.claims == ContactClaims(number: 5, time: 6, requester: .guest))
        #expect(VerifiedWakeUp(try wake(link, id: other.id, host: host), for: link) == nil)
        #expect(VerifiedWakeUp(try wake(other, id: link.id, host: host), for: link) == nil)
        #expect(VerifiedWakeUp(try wake(link, id: link.id, host: "cable.example.com"), for: link) == nil)
        #expect(VerifiedWakeUp(try wake(link, id: link.id, host: host, proves: false), for: link) == nil)
        for answer in [WakeUpAnswer.declined, .unanswered] {
            let decision = await verified?.decision { _ in answer }
            #expect(decision?.answer == answer)
        }
        guard case .approved(let approved)? = await verified?.decision(by: { _ in .approved }) else {
            Issue.record("a tap approves")
            return
        }
        #expect(approved.request.nonce == verified?.nonce)
    }
}
