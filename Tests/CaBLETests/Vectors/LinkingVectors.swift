// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

extension ChannelVectors {
    static func linking(_ value: JSONValue, handshakes: [JSONValue]) throws -> Int {
        let phone = try HandshakeVectors.key(value, "authenticator_identity_scalar")
        let client = try HandshakeVectors.key(value, "client_static_scalar")
        #expect(phone.point == (try value.hex("authenticator_identity_pub65")))
        #expect(client.point == (try value.hex("client_static_pub65")))
        let shared = try phone.sharedSecretFromKeyAgreement(with: client.publicKey).withUnsafeBytes { Array($0) }
        #expect(shared == (try value.hex("ecdh_x")))

        let cbor = try value.hex("linking_map_cbor")
        let map = try #require(CBORDecoder.decode(cbor, mode: .strict).map)
        let information = try #require(LinkingInformation(.map(map)))
        let hash = try #require(HandshakeHash(bytes: value.hex("handshake_hash")))
        #expect(information.signature == (try value.hex("signature")))
        #expect(information.isAuthentic(clientKey: client, handshakeHash: hash))
        #expect(CBOREncoder.encode(information.map) == cbor)
        let ours = try LinkingInformation(
            contactID: information.contactID,
            linkID: information.linkID,
            secret: information.secret,
            authenticatorKey: phone,
            name: information.name,
            clientKey: client.publicKey,
            handshakeHash: hash,
            announcesProof: false
        )
        #expect(CBOREncoder.encode(ours.map) == cbor)

        try update(value, handshakes: handshakes, expected: cbor)
        try tampered(map, client: client, hash: hash)
        return 1
    }

    /// The padded update, whose length does not reveal to the relay if it contains linking information.
    private static func update(_ value: JSONValue, handshakes: [JSONValue], expected: [UInt8]) throws {
        let base = try #require(handshakes.first { $0["name"] == .text("knpsk0_computed") })
        let key = SymmetricKey(data: try base.hex("responder_to_initiator"))
        let counter = UInt32(try value.number("update_frame_counter"))
        let plaintext = try value.hex("update_message_plaintext")
        #expect(FramePadding.pad(plaintext).count == (try value.number("update_padded_len")))
        let frame = Frame(bytes: try value.hex("update_frame"))
        #expect(try FrameOpener(key: key, counter: counter).next.open(frame) == plaintext)
        var sealer = FrameSealer(key: key, counter: counter)
        let sealed = try sealer.seal(plaintext)
        #expect(sealed == frame)
        guard case .update(let linking?) = try ChannelMessage(parsing: plaintext) else {
            Issue.record("the update contains no linking information")
            return
        }
        #expect(CBOREncoder.encode(linking.map) == expected)
        guard case .update(let again?) = try ChannelMessage(parsing: ChannelMessage.update(linking).encoded) else {
            Issue.record("our own update contains no linking information")
            return
        }
        #expect(CBOREncoder.encode(again.map) == expected)
    }

    /// Rejects another session, another client, another authenticator's key, and a flipped bit.
    private static func tampered(_ map: CBORMap, client: P256.KeyAgreement.PrivateKey, hash: HandshakeHash) throws {
        var random = SeededGenerator()
        let genuine = try #require(LinkingInformation(.map(map)))
        let otherHash = try #require(HandshakeHash(bytes: random.bytes(32)))
        #expect(!genuine.isAuthentic(clientKey: client, handshakeHash: otherHash), "\(random)")
        let otherClient = try P256.KeyAgreement.PrivateKey(random: &random)
        #expect(!genuine.isAuthentic(clientKey: otherClient, handshakeHash: hash), "\(random)")
        var stolen = map
        stolen[4] = .bytes(try P256.KeyAgreement.PrivateKey(random: &random).point)
        let forged = try #require(LinkingInformation(.map(stolen)))
        #expect(!forged.isAuthentic(clientKey: client, handshakeHash: hash), "\(random)")
        for signature in Damage.bitFlips(of: genuine.signature) {
            var damaged = map
            damaged[6] = .bytes(signature)
            let forged = try #require(LinkingInformation(.map(damaged)))
            #expect(!forged.isAuthentic(clientKey: client, handshakeHash: hash))
        }
        for key in 1...6 {
            for bad: CBORValue? in [nil, 7, "text as bytes", .bytes([1])] {
                if key == 5, bad?.text != nil { continue }
                if key == 1, bad?.bytes != nil { continue }
                var damaged = map
                damaged[.integer(key)] = bad
                #expect(LinkingInformation(.map(damaged)) == nil, "key \(key)")
                var update = CBORMap()
                update[1] = .map(damaged)
                let bytes = [2] + CBOREncoder.encode(update)
                guard case .update(nil) = try ChannelMessage(parsing: bytes) else {
                    Issue.record("key \(key): the update is dropped, and the session survives")
                    continue
                }
            }
        }
    }
}
