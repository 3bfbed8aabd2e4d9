// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

@Suite("Web Push")
struct WebPushTests {
    private static let endpoint = "https://push.example/up?token=0123456789abcdef"
    private static let host = "cable.example.org"
    private static let now: UInt64 = 1_800_000_000

    private static func subscription(_ endpoint: String = endpoint) throws -> (PushReceiverKey, PushSubscription) {
        let key = PushReceiverKey()
        return (key, try #require(key.subscription(endpoint: endpoint)))
    }

    private static func wake() throws -> PushMessage {
        .wake(
            RoutingID(node: 7, check: 9),
            try #require(TunnelID(bytes: 0..<16)),
            try #require(ClientPayload(bytes: [UInt8](repeating: 3, count: ClientPayload.maximumLength))),
            seconds: 118
        )
    }

    private static func keys(_ numbers: UInt8...) throws -> PushContactIDKeys {
        let keys = numbers.map { ($0, SymmetricKey(data: [UInt8](repeating: $0, count: 32))) }
        return try #require(PushContactIDKeys(keys))
    }

    // MARK: Encryption

    @Test("The example of RFC 8291 §5 is reproduced byte by byte")
    func publishedExample() throws {
        func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }
        let receiver = try #require(
            PushReceiverKey(
                bytes: bytes("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94") + bytes("BTBZMqHH6r4Tts7J_aSIgg")
            )
        )
        let subscription = try #require(receiver.subscription(endpoint: "https://push.example.net/"))
        #expect(
            subscription.publicKey.base64URL
                == "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        )
        let body = PushEncryption.encrypt(
            Array("When I grow up, I want to be a watermelon".utf8) + [2],
            for: subscription,
            as: try P256.KeyAgreement.PrivateKey(
                rawRepresentation: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
            ),
            salt: try bytes("DGv6ra1nlYgDCS1FRnbzlw")
        )
        #expect(
            Base64URL.encode(body)
                == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"
                + "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
                + "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        )
        // It is authentic, but not a message of a relay.
        #expect(throws: PushDecryptionError.unknownMessage) { try receiver.open(body) }
    }

    @Test("A phone opens what a relay encrypts; all messages have the same length")
    func roundTrip() throws {
        var generator = SystemRandomNumberGenerator()
        let (key, subscription) = try Self.subscription()
        let stored = try #require(PushReceiverKey(bytes: key.withUnsafeBytes { Array($0) }))
        for message in [PushMessage.proof(PushNonce(using: &generator)), try Self.wake()] {
            let body = PushEncryption.encrypt(message, for: subscription)
            #expect(body.count == 86 + 513 + 16)
            #expect(try key.open(body) == message)
            #expect(try stored.open(body) == message)
        }
    }

    @Test("Every changed bit and every truncation is detected, and so is another receiver")
    func damage() throws {
        let (key, subscription) = try Self.subscription()
        let body = PushEncryption.encrypt(try Self.wake(), for: subscription)
        for index in body.indices {
            var changed = body
            changed[index] ^= 1 << UInt8(index % 8)
            // A larger record size changes nothing: there is only one record.
            guard !(16..<20).contains(index) else { continue }
            #expect(throws: PushDecryptionError.self, "byte \(index)") { try key.open(changed) }
            #expect(throws: PushDecryptionError.self, "\(index) bytes") { try key.open(body[..<index]) }
        }
        #expect(throws: PushDecryptionError.notAuthentic) { try PushReceiverKey().open(body) }
        #expect(throws: PushDecryptionError.malformedHeader) { try key.open(body + [UInt8](repeating: 0, count: 4096)) }
    }

    @Test("Padding without the delimiter of a last record is rejected")
    func padding() throws {
        let (key, subscription) = try Self.subscription()
        for record in [[1, 1, 1], [0, 0, 0], []] as [[UInt8]] {
            let body = PushEncryption.encrypt(
                record,
                for: subscription,
                as: P256.KeyAgreement.PrivateKey(),
                salt: [UInt8](repeating: 1, count: 16)
            )
            #expect(throws: PushDecryptionError.self) { try key.open(body) }
        }
    }

    // MARK: Messages

    @Test("Push messages and the phone's messages about them survive a round trip")
    func messages() throws {
        var generator = SystemRandomNumberGenerator()
        let nonce = PushNonce(using: &generator)
        for message in [PushMessage.proof(nonce), try Self.wake()] {
            #expect(try PushMessage(parsing: message.encoded) == message)
            for length in 0..<message.encoded.count {
                #expect(throws: ListenMessage.ParseError.self) { try PushMessage(parsing: message.encoded[..<length]) }
            }
        }
        let (_, subscription) = try Self.subscription()
        let contact = try #require(Self.keys(1).seal(subscription, host: Self.host, expiry: 5))
        let messages: [ListenMessage] =
            [
                .vapidRequest, .vapid(subscription.publicKey), .seal(subscription), .proof(nonce),
                .sealed(contact, expiry: 5),
            ] + UnsealedReason.allCases.map { .unsealed($0) }
        for message in messages {
            #expect(try ListenMessage(parsing: message.encoded) == message)
            #expect(throws: ListenMessage.ParseError.self) { try ListenMessage(parsing: message.encoded.dropLast()) }
        }
    }

    @Test("A subscription has a visible endpoint of limited length, a key on the curve and a secret of 16 bytes")
    func subscriptions() throws {
        let (_, subscription) = try Self.subscription()
        let (key, secret) = (subscription.publicKey, subscription.authenticationSecret)
        for endpoint in ["", "https://a b", "https://é", String(repeating: "a", count: 513), "https://a\n"] {
            #expect(PushSubscription(endpoint: endpoint, publicKey: key, authenticationSecret: secret) == nil)
        }
        #expect(PushSubscription(endpoint: "x", publicKey: key, authenticationSecret: secret.dropLast()) == nil)
        #expect(PushPublicKey(bytes: [4] + [UInt8](repeating: 1, count: 64)) == nil)
        #expect(PushPublicKey(bytes: key.bytes.dropLast()) == nil)
        #expect("\(subscription)" == "PushSubscription(hidden)")
    }

    // MARK: Contact IDs

    @Test("A contact ID contains the subscription, for the relay alone, and no two are the same")
    func contacts() throws {
        let (_, subscription) = try Self.subscription()
        let keys = try Self.keys(1)
        let contact = try #require(keys.seal(subscription, host: Self.host, expiry: UInt32(Self.now) + 1))
        #expect(contact.kind == .push && contact.bytes.prefix(2) == [2, 1])
        #expect(keys.open(contact, host: Self.host, now: Self.now) == subscription)
        #expect(keys.seal(subscription, host: Self.host, expiry: UInt32(Self.now) + 1) != contact)
        #expect(keys.open(contact, host: "cable.example.net", now: Self.now) == nil, "another relay with this key")
        #expect(keys.open(contact, host: Self.host, now: Self.now + 1) == nil, "expired")
        for index in contact.bytes.indices {
            var bytes = contact.bytes
            bytes[index] ^= 1 << UInt8(index % 8)
            #expect(keys.open(try #require(ContactID(bytes: bytes)), host: Self.host, now: 0) == nil, "byte \(index)")
            guard let short = ContactID(bytes: contact.bytes[..<index]) else { continue }
            #expect(keys.open(short, host: Self.host, now: 0) == nil, "\(index) bytes")
        }
    }

    @Test("The first key encrypts, and older ones open; an unknown number opens nothing")
    func rotation() throws {
        let (_, subscription) = try Self.subscription()
        let old = try #require(Self.keys(7).seal(subscription, host: Self.host, expiry: .max))
        let both = try Self.keys(8, 7)
        #expect(both.open(old, host: Self.host, now: Self.now) == subscription)
        let new = try #require(both.seal(subscription, host: Self.host, expiry: .max))
        #expect(new.bytes[1] == 8)
        #expect(try Self.keys(7).open(new, host: Self.host, now: Self.now) == nil)
        #expect(PushContactIDKeys([]) == nil)
        let key = SymmetricKey(size: .bits256)
        #expect(PushContactIDKeys([(1, key), (1, key)]) == nil)
        #expect(PushContactIDKeys([(1, SymmetricKey(size: .bits128))]) == nil)
    }

    @Test("The longest endpoint fits into 300 bytes, and one byte more is refused")
    func lengths() throws {
        let longest = PushContactIDKeys.maximumEndpointLength
        #expect(longest == 225)
        let keys = try Self.keys(1)
        for (length, fits) in [(longest, true), (longest + 1, false)] {
            let text = "https://push.example/" + String(repeating: "x", count: length - 21)
            let (_, subscription) = try Self.subscription(text)
            let contact = keys.seal(subscription, host: Self.host, expiry: .max)
            #expect((contact != nil) == fits)
            if let contact { #expect(contact.bytes.count == ContactID.maximumPushLength) }
        }
        let (_, plain) = try Self.subscription("http://push.example/")
        #expect(keys.seal(plain, host: Self.host, expiry: .max) == nil)
    }

    // MARK: VAPID

    @Test("A token has the form of RFC 8292 and verifies with the key that it names")
    func tokens() throws {
        let scalar = Array(SHA256.hash(data: [1]))
        let key = try #require(scalar.withUnsafeBytes { VAPIDKey(bytes: $0) })
        #expect(key.withUnsafeBytes { Array($0) } == scalar)
        let text = key.authorization(
            origin: "https://push.example.net",
            subject: "mailto:push@example.com",
            expiry: 1_453_523_768
        )
        let match = try #require(text.wholeMatch(of: #/vapid t=([^.]+)\.([^.]+)\.([^,]+),k=(.+)/#))
        func decoded(_ part: Substring) throws -> [UInt8] { try #require(Base64URL.decode(part)) }
        #expect(String(decoding: try decoded(match.1), as: UTF8.self) == #"{"typ":"JWT","alg":"ES256"}"#)
        // The claims of the example in RFC 8292 §2.4, in the same order.
        #expect(
            String(decoding: try decoded(match.2), as: UTF8.self)
                == #"{"aud":"https://push.example.net","exp":1453523768,"sub":"mailto:push@example.com"}"#
        )
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: decoded(match.3))
        let publicKey = try P256.Signing.PublicKey(x963Representation: decoded(match.4))
        #expect(publicKey.isValidSignature(signature, for: Array("\(match.1).\(match.2)".utf8)))
        #expect(key.publicKey.base64URL == match.4)
    }

    @Test("The example of RFC 8292 §2.4 verifies in the same way")
    func publishedToken() throws {
        let key = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        let signed =
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsI"
            + "nN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0"
        let signature = "i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
        let publicKey = try P256.Signing.PublicKey(x963Representation: #require(Base64URL.decode(key)))
        let parsed = try P256.Signing.ECDSASignature(rawRepresentation: #require(Base64URL.decode(signature)))
        #expect(publicKey.isValidSignature(parsed, for: Array(signed.utf8)))
        #expect(PushPublicKey(bytes: try #require(Base64URL.decode(key)))?.base64URL == key)
    }
}
