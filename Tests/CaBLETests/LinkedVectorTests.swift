// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

/// The formats of linked phones, compared with a computation in Python.
@Suite("Vectors of linked phones")
struct LinkedVectorTests {
    private static func vectors() throws -> JSONValue { try VectorFile.load("linked.json") }

    @Test("Contact IDs, paths and signatures follow from the key")
    func contacts() throws {
        let vectors = try Self.vectors().list("contacts")
        #expect(vectors.count == 3)
        for vector in vectors {
            let key = try #require(ContactKey(bytes: vector.hex("seed")))
            #expect(key.withUnsafeBytes { Array($0) } == (try vector.hex("seed")))
            #expect(key.publicKey.bytes == (try vector.hex("public_key")))
            let contact = key.publicKey.contactID
            #expect(contact.bytes == (try vector.hex("contact_id")))
            #expect(contact.kind == .listener)
            for (path, text) in [(TunnelPath.contact(contact), "contact_path"), (.listen(contact), "listen_path")] {
                #expect(path.text == (try vector.text(text)))
                #expect(try TunnelPath(parsing: vector.text(text)) == path)
            }
            let (host, challenge) = (
                try vector.text("host"), try #require(ListenChallenge(bytes: vector.hex("challenge")))
            )
            for (statement, name) in [
                (ContactStatement.listen(host: host, challenge, contact), "listen"),
                (.gone(host: host, contact), "gone"),
            ] {
                #expect(statement.bytes == (try vector.hex("\(name)_statement")))
                // Ed25519 is deterministic (RFC 8032 §5.1.6).
                #expect(key.sign(statement).bytes == (try vector.hex("\(name)_signature")))
                let signature = try #require(ContactSignature(bytes: vector.hex("\(name)_signature")))
                #expect(key.publicKey.verifies(signature, of: statement))
            }
        }
    }

    @Test("The first byte and the length of a contact ID tell its kind")
    func kinds() throws {
        for vector in try Self.vectors().list("foreign_ids") {
            let contact = try #require(ContactID(bytes: vector.hex("contact_id")))
            #expect("\(contact.kind)" == (try vector.text("kind")))
            #expect(contact.base64URL == (try vector.text("base64url")))
            #expect(ContactID(base64URL: try vector.text("base64url")) == contact)
        }
    }

    @Test("Payloads, with and without a proof")
    func payloads() throws {
        let vectors = try Self.vectors().list("payloads")
        #expect(vectors.count == 4)
        for vector in vectors {
            let payload = try #require(ClientPayload(bytes: vector.hex("payload")))
            #expect(payload.hex == (try vector.text("payload")))
            let request = try #require(ContactRequest(parsing: payload))
            #expect(request.linkID.bytes == (try vector.hex("link_id")))
            #expect(request.nonce.bytes == (try vector.hex("nonce")))
            #expect(request.hint.rawValue == (try vector.text("hint")))
            #expect(request.payload == payload)
            let secret = try #require(LinkSecret(bytes: vector.hex("link_secret")))
            let proves = try vector.boolean("proves")
            let claims = ContactClaims(
                number: UInt64(try vector.number("number")),
                time: UInt64(try vector.number("time")),
                requester: try #require(Requester(rawValue: UInt8(try vector.number("requester"))))
            )
            #expect(request.provenClaims(secret: secret, host: try vector.text("host")) == (proves ? claims : nil))
            var nonce = ScriptedGenerator(bytes: try vector.hex("nonce"))
            let ours = ContactRequest(
                linkID: request.linkID,
                secret: secret,
                hint: request.hint,
                host: try vector.text("host"),
                claims: proves ? claims : nil,
                using: &nonce
            )
            #expect(ours.payload == payload)
        }
    }

    @Test("Listen messages")
    func messages() throws {
        let vectors = try Self.vectors().value("messages")
        let valid = try vectors.list("valid")
        #expect(Set(try valid.map { try $0.text("name") }) == ["hello", "own", "ok", "wake", "decline", "gone"])
        for vector in valid {
            let message = try ListenMessage(parsing: vector.hex("cbor"))
            #expect("\(message)".hasPrefix(try vector.text("name")))
            #expect(message.encoded == (try vector.hex("cbor")))
        }
        let invalid = try vectors.list("invalid")
        #expect(invalid.count >= 40)
        for vector in invalid {
            guard case .text(let hex) = vector, let bytes = Hexadecimal.bytes(hex) else {
                Issue.record("an invalid message is not hexadecimal")
                continue
            }
            #expect(throws: ListenMessage.ParseError.self, "\(hex)") { try ListenMessage(parsing: bytes) }
        }
    }

    @Test("An update has 512 bytes with its padding, with and without a link")
    func updates() throws {
        let vectors = try Self.vectors().list("updates")
        #expect(vectors.count == 6)
        for vector in vectors {
            let plaintext = try vector.hex("plaintext")
            guard case .update(let linking) = try ChannelMessage(parsing: plaintext) else {
                Issue.record("not an update")
                continue
            }
            #expect(linking?.name == vector["name"].flatMap { if case .text(let name) = $0 { name } else { nil } })
            #expect(try linking.map { try $0.contactID.bytes == vector.hex("contact_id") } ?? true)
            #expect(try linking.map { try $0.announcesProof == vector.boolean("announces_proof") } ?? true)
            let encoded = ChannelMessage.update(linking).encoded
            #expect(encoded == plaintext)
            #expect(FramePadding.pad(encoded).count == (try vector.number("padded_length")))
            var sealer = FrameSealer(key: .init(size: .bits256))
            #expect(try sealer.seal(encoded).bytes.count == 512 + 16)
        }
    }
}

/// A generator that returns given bytes, one for each number.
private struct ScriptedGenerator: RandomNumberGenerator {
    var bytes: [UInt8]

    /// Returns a number whose bytes are all the next byte, so that each part of it can be taken as a random byte.
    mutating func next() -> UInt64 {
        0x0101_0101_0101_0101 * UInt64(bytes.isEmpty ? 0 : bytes.removeFirst())
    }
}
