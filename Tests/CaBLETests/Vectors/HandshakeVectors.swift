// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

enum HandshakeVectors {
    static func transcripts(_ value: JSONValue) throws -> Int {
        var checked = 0
        for vector in try value.elements {
            try initiator(vector)
            if vector["responder_ephemeral_scalar"] != nil { try responder(vector) }
            if vector["initiator_trace"] != nil { try trace(vector) }
            if vector["post_handshake_ciphertext"] != nil { try frames(vector) }
            checked += 1
        }
        return checked
    }

    /// Checks message 1, keys and hash of the client; message 2 comes from the vector.
    private static func initiator(_ vector: JSONValue) throws {
        let name = Comment(rawValue: try vector.text("name"))
        let handshake = try makeInitiator(vector)
        #expect(handshake.message1.bytes == (try vector.hex("msg1")), name)
        let outcome = try HandshakeOutcome.finish(handshake, vector.hex("msg2"))
        #expect(outcome.sending == (try vector.hex("initiator_to_responder")), name)
        #expect(outcome.receiving == (try vector.hex("responder_to_initiator")), name)
        #expect(outcome.hash == (try vector.hex("handshake_hash")), name)
    }

    private static func responder(_ vector: JSONValue) throws {
        let name = Comment(rawValue: try vector.text("name"))
        let (message2, outcome) = try HandshakeOutcome.answer(try makeResponder(vector), vector.hex("msg1"))
        #expect(message2 == (try vector.hex("msg2")), name)
        #expect(outcome.sending == (try vector.hex("responder_to_initiator")), name)
        #expect(outcome.receiving == (try vector.hex("initiator_to_responder")), name)
        #expect(outcome.hash == (try vector.hex("handshake_hash")), name)
    }

    /// Checks messages that a real iPhone sent and accepted under the keys of this handshake.
    private static func frames(_ vector: JSONValue) throws {
        let message2 = try #require(HandshakeMessage(bytes: vector.hex("msg2")))
        var crypter = try makeInitiator(vector).finish(message2).open()
        let first = try crypter.opener.open(Frame(bytes: vector.hex("post_handshake_ciphertext")))
        #expect(first == (try vector.hex("post_handshake_plaintext_unpadded")))
        #expect(try PostHandshakeMessage(parsing: first).features == [.ctap, .digitalCredentials])
        let request = try crypter.sealer.seal(vector.hex("request_plaintext"))
        #expect(request.bytes == (try vector.hex("request_ciphertext_counter0")))
        let response = try crypter.opener.open(Frame(bytes: vector.hex("response_ciphertext_counter1")))
        #expect(response == (try vector.hex("response_plaintext")))
        guard case .ctap(let payload) = try ChannelMessage(parsing: response) else {
            Issue.record("the iPhone's response is not CTAP")
            return
        }
        #expect(payload.first == 0)
    }

    static func makePSK(_ vector: JSONValue) throws -> PSK {
        let plaintext = try vector.hex("eid_plaintext")
        let domain = try #require(TunnelDomain(id: UInt16(plaintext[14]) | UInt16(plaintext[15]) << 8))
        let eid = try #require(
            EID(
                nonce: Array(plaintext[1..<11]),
                routingID: RoutingID(checked: Array(plaintext[11..<14])),
                domain: domain
            )
        )
        #expect(eid.plaintext == plaintext)
        let psk: PSK
        if vector["link_secret"] != nil {
            psk = try #require(LinkSecret(bytes: vector.hex("link_secret"))).psk(for: eid)
        } else {
            psk = try #require(QRSecret(bytes: vector.hex("qr_secret"))).psk(for: eid)
        }
        #expect(psk.key.testBytes == (try vector.hex("psk")))
        return psk
    }

    static func makeInitiator(_ vector: JSONValue) throws -> InitiatorHandshake {
        let ephemeral = try key(vector, "initiator_ephemeral_scalar")
        if vector["authenticator_static_pub65"] != nil {
            let phone = try P256.KeyAgreement.PublicKey(x963Representation: vector.hex("authenticator_static_pub65"))
            return try InitiatorHandshake(authenticatorKey: phone, psk: makePSK(vector), ephemeral: ephemeral)
        }
        let client = try key(vector, "client_static_scalar")
        if vector["client_static_pub65"] != nil { #expect(client.point == (try vector.hex("client_static_pub65"))) }
        return try InitiatorHandshake(clientKey: client, psk: makePSK(vector), ephemeral: ephemeral)
    }

    static func makeResponder(_ vector: JSONValue, psk: PSK? = nil) throws -> ResponderHandshake {
        let ephemeral = try key(vector, "responder_ephemeral_scalar")
        let psk = try psk ?? makePSK(vector)
        if vector["authenticator_static_scalar"] != nil {
            let phone = try key(vector, "authenticator_static_scalar")
            #expect(phone.point == (try vector.hex("authenticator_static_pub65")))
            return ResponderHandshake(authenticatorKey: phone, psk: psk, ephemeral: ephemeral)
        }
        let client = try key(vector, "client_static_scalar").publicKey
        return ResponderHandshake(clientKey: client, psk: psk, ephemeral: ephemeral)
    }

    static func key(_ vector: JSONValue, _ name: String) throws -> P256.KeyAgreement.PrivateKey {
        try P256.KeyAgreement.PrivateKey(rawRepresentation: vector.hex(name))
    }

    // MARK: - Rejections

    static func negatives(_ value: JSONValue, bases: [JSONValue]) throws -> Int {
        var checked = 0
        for vector in try value.elements {
            let name = Comment(rawValue: try vector.text("name"))
            let base = try #require(bases.first { $0["name"] == vector["base"] }, name)
            switch try vector.text("expect") {
            case "responder rejects":
                let message1 = try vector.hex("msg1")
                let psk = try vector["psk"].map { _ in try #require(PSK(bytes: vector.hex("psk"))) }
                #expect(throws: HandshakeError.self, name) {
                    _ = try HandshakeOutcome.answer(makeResponder(base, psk: psk), message1)
                }
            case "initiator rejects":
                let message2 = try vector.hex("msg2")
                #expect(throws: HandshakeError.self, name) {
                    _ = try HandshakeOutcome.finish(makeInitiator(base), message2)
                }
            default:
                Issue.record("an expectation without a check: \(name)")
                continue
            }
            checked += 1
        }
        return checked
    }
}
