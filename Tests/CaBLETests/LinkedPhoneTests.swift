// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

@Suite("Linked phones: contact IDs, statements, requests and messages")
struct LinkedPhoneTests {
    static let host = "cable.wufkweyy3uaxb.com"

    private static func challenge(_ random: inout SeededGenerator) -> ListenChallenge { .init(using: &random) }

    // MARK: Contact IDs

    @Test("A contact ID has one spelling, in base64url without padding")
    func base64URL() throws {
        var random = SeededGenerator()
        for length in Array(1...40) + [300, 1024] {
            let contact = try #require(ContactID(bytes: random.bytes(length)), "\(random)")
            #expect(ContactID(base64URL: contact.base64URL) == contact, "\(random)")
            #expect(ContactID(base64URL: contact.base64URL + "=") == nil, "\(random)")
            for path in [TunnelPath.contact(contact), .listen(contact)] {
                #expect(try TunnelPath(parsing: path.text) == path, "\(random)")
            }
        }
        // The last two: unused bits that are not zero, and an impossible length.
        for bad in ["", "=", "AQ==", "A+", "A/", "AA AA", "AÄ", "AQ\n", "AR", "A"] {
            #expect(ContactID(base64URL: bad) == nil, "\(bad)")
        }
        #expect(ContactID(base64URL: String(repeating: "A", count: 1366)) != nil)
        #expect(ContactID(base64URL: String(repeating: "A", count: 1367)) == nil)
    }

    // MARK: Statements

    @Test("A signature is valid for one statement only: host, challenge, contact ID and purpose")
    func statements() throws {
        var random = SeededGenerator()
        let (key, other) = (ContactKey(), ContactKey())
        let contact = key.publicKey.contactID
        let challenge = Self.challenge(&random)
        let listen = ContactStatement.listen(host: Self.host, challenge, contact)
        let gone = ContactStatement.gone(host: Self.host, contact)
        for (signed, statement) in [(listen, gone), (gone, listen)] {
            let signature = key.sign(signed)
            #expect(key.publicKey.verifies(signature, of: signed))
            #expect(!key.publicKey.verifies(signature, of: statement), "for another purpose")
            #expect(!other.publicKey.verifies(signature, of: signed), "with another key")
            #expect(!key.publicKey.verifies(other.sign(signed), of: signed), "of another key")
            for flipped in Damage.someBitFlips(of: signature.bytes) {
                #expect(!key.publicKey.verifies(try #require(ContactSignature(bytes: flipped)), of: signed))
            }
            for flipped in Damage.someBitFlips(of: key.publicKey.bytes) {
                #expect(!(try #require(ContactPublicKey(bytes: flipped)).verifies(signature, of: signed)))
            }
        }
        let signature = key.sign(listen)
        for host in ["cable.my4kstlhndi4c.net", "", Self.host + "x", Self.host.uppercased()] {
            #expect(!key.publicKey.verifies(signature, of: .listen(host: host, challenge, contact)), "at \(host)")
            #expect(!key.publicKey.verifies(key.sign(gone), of: .gone(host: host, contact)), "at \(host)")
        }
        for bytes in Damage.someBitFlips(of: challenge.bytes) {
            let flipped = try #require(ListenChallenge(bytes: bytes))
            #expect(!key.publicKey.verifies(signature, of: .listen(host: Self.host, flipped, contact)))
        }
    }

    @Test("No key can speak for the contact ID of another key")
    func foreignContact() throws {
        let (key, other) = (ContactKey(), ContactKey())
        for bytes in [other.publicKey.contactID.bytes, Array("token".utf8)] {
            let statement = ContactStatement.gone(host: Self.host, try #require(ContactID(bytes: bytes)))
            #expect(!key.publicKey.verifies(key.sign(statement), of: statement))
        }
        for flipped in Damage.bitFlips(of: key.publicKey.contactID.bytes) {
            let statement = ContactStatement.gone(host: Self.host, try #require(ContactID(bytes: flipped)))
            #expect(!key.publicKey.verifies(key.sign(statement), of: statement))
        }
        #expect(key.publicKey != other.publicKey)
        #expect(key.publicKey.contactID != other.publicKey.contactID)
    }

    @Test("A stored key is the same key, and bytes of another length are none")
    func storedKey() throws {
        let key = ContactKey()
        let stored = key.withUnsafeBytes { Array($0) }
        #expect(ContactKey(bytes: stored)?.publicKey == key.publicKey)
        for length in [0, 31, 33, 64] {
            let bytes = [UInt8](repeating: 1, count: length)
            #expect(ContactKey(bytes: bytes) == nil)
            #expect(ContactPublicKey(bytes: bytes) == nil)
            #expect(ListenChallenge(bytes: bytes) == nil)
            #expect((ContactSignature(bytes: bytes) != nil) == (length == 64))
        }
        var random = SeededGenerator()
        #expect(Self.challenge(&random) != Self.challenge(&random))
        let secret = LinkSecret(using: &random)
        #expect(LinkSecret(bytes: secret.withUnsafeBytes { Array($0) }) == secret)
        #expect(LinkID(using: &random) != LinkID(using: &random))
    }

    // MARK: Requests

    @Test("A request is authentic for its secret and its host only")
    func proof() throws {
        var random = SeededGenerator()
        let secret = LinkSecret(using: &random)
        let linkID = LinkID(using: &random)
        for hint in [RequestHint.getAssertion, .makeCredential] {
            let claims = ContactClaims(
                number: .random(in: .min ... .max, using: &random),
                time: .random(in: .min ... .max, using: &random),
                requester: hint == .getAssertion ? .guest : .program
            )
            let request = ContactRequest(
                linkID: linkID,
                secret: secret,
                hint: hint,
                host: Self.host,
                claims: claims,
                using: &random
            )
            let payload = request.payload
            #expect(payload.bytes.count <= 73)
            let read = try #require(ContactRequest(parsing: payload), "\(random)")
            #expect(read.provenClaims(secret: secret, host: Self.host) == claims, "\(random)")
            #expect(read.provenClaims(secret: secret, host: "cable.ua5v.com") == nil, "\(random)")
            let other = LinkSecret(using: &random)
            #expect(read.provenClaims(secret: other, host: Self.host) == nil, "\(random)")
            // Only the ID of the link is not covered; it selects the secret.
            for flipped in Damage.bitFlips(of: payload.bytes) {
                let forged = ClientPayload(bytes: flipped).flatMap { ContactRequest(parsing: $0) }
                let isForged = forged.map {
                    $0.linkID == linkID && $0.provenClaims(secret: secret, host: Self.host) != nil
                }
                #expect(isForged != true, "\(random)")
            }
            for cut in Damage.truncations(of: payload.bytes) {
                #expect(ClientPayload(bytes: cut).flatMap { ContactRequest(parsing: $0) } == nil, "\(random)")
            }
            let bare = ContactRequest(
                linkID: linkID,
                secret: secret,
                hint: hint,
                host: Self.host,
                claims: nil,
                using: &random
            )
            #expect(bare.provenClaims(secret: secret, host: Self.host) == nil, "\(random)")
            #expect(bare.payload != payload && bare.nonce != request.nonce, "\(random)")
            let otherHint: RequestHint = hint == .getAssertion ? .makeCredential : .getAssertion
            var map = try #require(CBORDecoder.decode(payload.bytes, mode: .strict).map)
            map[3] = .text(otherHint.rawValue)
            let renamed = try #require(ClientPayload(bytes: CBOREncoder.encode(map)))
            #expect(
                ContactRequest(parsing: renamed).map { $0.provenClaims(secret: secret, host: Self.host) == nil }
                    == true,
                "\(random)"
            )
        }
    }

    @Test("Members are required, and have one type and length")
    func malformedRequests() throws {
        let members: CBORMap = [
            1: .bytes([UInt8](repeating: 1, count: 8)), 2: .bytes([UInt8](repeating: 2, count: 16)), 3: "ga",
            4: .bytes([UInt8](repeating: 4, count: 34)),
        ]
        func request(_ map: CBORMap) -> ContactRequest? {
            ClientPayload(bytes: CBOREncoder.encode(map)).flatMap { ContactRequest(parsing: $0) }
        }
        #expect(request(members) != nil)
        for key in 1...4 {
            for bad: CBORValue? in [nil, 1, "xx", .bytes([]), .bytes([UInt8](repeating: 0, count: 17)), .null] {
                var map = members
                map[.integer(key)] = bad
                #expect((request(map) != nil) == (key == 4 && bad == nil), "\(key) \(String(describing: bad))")
            }
        }
        var map = members
        map[5] = "later version"
        #expect(request(map) != nil)
        // Not in canonical order.
        let loose: [UInt8] = [0xA1, 0x18, 0x01, 0x00]
        #expect(ContactRequest(parsing: try #require(ClientPayload(bytes: loose))) == nil)
    }

    @Test("A payload has 1 to 256 bytes, in hexadecimal digits of either case")
    func payloads() throws {
        var random = SeededGenerator()
        for length in [0, 1, 255, 256, 257, 1024] {
            let bytes = random.bytes(length)
            let isValid = (1...256).contains(length)
            #expect((ClientPayload(bytes: bytes) != nil) == isValid)
            #expect(ClientPayload(hex: Hexadecimal.text(bytes))?.bytes == (isValid ? bytes : nil))
            #expect(ClientPayload(hex: Hexadecimal.text(bytes).uppercased())?.bytes == (isValid ? bytes : nil))
        }
        for bad in ["a", "abc", "ag", " a", "0x", "a1 ", "１２"] { #expect(ClientPayload(hex: bad) == nil) }
    }

    // MARK: Listen messages

    @Test("Messages of random content survive the round trip; cut ones are rejected")
    func messages() throws {
        var random = SeededGenerator()
        let key = ContactKey()
        let challenge = Self.challenge(&random)
        let statement = ContactStatement.listen(host: Self.host, challenge, key.publicKey.contactID)
        let payload = try #require(ClientPayload(bytes: random.bytes(random.number(1...256))), "\(random)")
        let messages: [ListenMessage] = [
            .hello(challenge, pingSeconds: random.number(1...300)), .own(key.publicKey, key.sign(statement)), .ok,
            .wake(
                number: UInt32.random(in: .min ... .max, using: &random),
                RoutingID(checked: random.bytes(3)),
                TunnelID(checked: random.bytes(16)),
                payload,
                seconds: random.number(0...600)
            ),
            .decline(number: UInt32.random(in: .min ... .max, using: &random)), .gone(key.sign(statement)),
        ]
        for message in messages {
            let encoded = message.encoded
            #expect(encoded.count <= ListenMessage.maximumLength)
            #expect(try ListenMessage(parsing: encoded) == message, "\(random)")
            for cut in Damage.truncations(of: encoded) {
                #expect(throws: ListenMessage.ParseError.self, "\(random)") { try ListenMessage(parsing: cut) }
            }
            for flipped in Damage.bitFlips(of: encoded) {
                // A flipped bit in a value may give another message, but never the same one or another spelling.
                guard let other = try? ListenMessage(parsing: flipped) else { continue }
                #expect(other != message && other.encoded == flipped, "\(random)")
            }
        }
        #expect(throws: ListenMessage.ParseError.notAMap) {
            try ListenMessage(parsing: [UInt8](repeating: 0xA0, count: 1025))
        }
        #expect(ListenMessage.subprotocol == "hybrid-relay.listen.v1")
    }

    // MARK: Linking information

    @Test("Own linking information fits into an update, or is rejected before it is sent")
    func lengths() throws {
        var random = SeededGenerator()
        let phone = try P256.KeyAgreement.PrivateKey(random: &random)
        let client = try P256.KeyAgreement.PrivateKey(random: &random)
        let hash = try #require(HandshakeHash(bytes: random.bytes(32)))
        func linking(_ contact: Int, _ name: Int) throws(LinkingError) -> LinkingInformation {
            guard let contactID = ContactID(bytes: random.bytes(contact)) else { throw .tooLong }
            return try LinkingInformation(
                contactID: contactID,
                linkID: LinkID(using: &random),
                secret: LinkSecret(using: &random),
                authenticatorKey: phone,
                name: String(repeating: "n", count: name),
                clientKey: client.publicKey,
                handshakeHash: hash
            )
        }
        for (contact, name) in [(25, 0), (25, 7), (25, 255), (300, 0), (300, 20), (1, 1), (100, 178), (280, 24)] {
            let information = try linking(contact, name)
            #expect(information.announcesProof)
            #expect(information.isAuthentic(clientKey: client, handshakeHash: hash))
            let encoded = ChannelMessage.update(information).encoded
            #expect(FramePadding.pad(encoded).count == 512, "\(contact) and \(name) bytes")
            guard case .update(let read?) = try ChannelMessage(parsing: encoded) else {
                Issue.record("no linking information")
                continue
            }
            #expect(read.announcesProof && read.name == information.name && read.contactID == information.contactID)
        }
        for (contact, name) in [(25, 256), (400, 7), (1024, 0), (300, 255)] {
            #expect(throws: LinkingError.tooLong) { try linking(contact, name) }
        }
        // Every length from the largest that fits downwards.
        var fitting = 0
        for contact in 1...400 {
            let information = try? linking(contact, 60)
            let contactID = try #require(ContactID(bytes: random.bytes(contact)))
            let fits = LinkingInformation.fits(contactID, name: String(repeating: "n", count: 60))
            #expect(fits == (information != nil), "\(contact) bytes")
            guard let information else { continue }
            fitting = contact
            #expect(FramePadding.pad(ChannelMessage.update(information).encoded).count == 512, "\(contact) bytes")
        }
        #expect((200..<400).contains(fitting))
        #expect(FramePadding.pad(ChannelMessage.update(nil).encoded).count == 512)
    }

    @Test("A name of more than 255 bytes is malformed, and a proof is announced by its version only")
    func members() throws {
        var random = SeededGenerator()
        let phone = try P256.KeyAgreement.PrivateKey(random: &random)
        var map: CBORMap = [
            1: .bytes([1]), 2: .bytes(random.bytes(8)), 3: .bytes(random.bytes(32)), 4: .bytes(phone.point),
            5: .text(String(repeating: "é", count: 127) + "e"), 6: .bytes(random.bytes(32)),
        ]
        #expect(LinkingInformation(.map(map))?.announcesProof == false)
        for (value, expected) in [
            (CBORValue.integer(2), true), (.boolean(false), false), (1, false), (3, false), (.null, false),
        ] {
            map[1000] = value
            #expect(LinkingInformation(.map(map))?.announcesProof == expected)
        }
        map[1000] = true
        #expect(LinkingInformation(.map(map)) == nil, "the first version of the proof is no longer sent")
        map[1000] = nil
        map[5] = .text(String(repeating: "é", count: 128))
        #expect(LinkingInformation(.map(map)) == nil)
    }
}
