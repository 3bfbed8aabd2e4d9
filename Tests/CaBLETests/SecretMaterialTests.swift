// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

/// Printing a secret, alone or as part of another value, never shows any of its bytes.
@Suite("Secrets are never printed")
struct SecretMaterialTests {
    /// Bytes with recognizable decimal and hexadecimal forms.
    static func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(171 + $0 % 64) } }

    /// Returns all texts that Swift prints for a value.
    private func renderings<T>(_ value: T) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        var printed = ""
        print(value, to: &printed)
        var debugged = ""
        debugPrint(value, to: &debugged)
        let wrapped: [Any] = [
            [value], Optional(value) as Any, ["key": value], (value, 1), Result<T, any Error>.success(value),
        ]
        return ["\(value)", String(describing: value), String(reflecting: value), dumped, printed, debugged]
            + wrapped.flatMap { outer in
                var dumped = ""
                dump(outer, to: &dumped)
                return ["\(outer)", String(reflecting: outer), dumped]
            }
    }

    private func expectHidden<T>(_ value: T, _ secret: [UInt8]) {
        for text in renderings(value) {
            let lower = text.lowercased()
            #expect(lower.contains("hidden"))
            for start in 0..<secret.count - 1 {
                let pair = secret[start...start + 1]
                #expect(!lower.contains(Hexadecimal.text(pair)), "hexadecimal")
                #expect(!lower.contains(pair.map(String.init).joined(separator: ", ")), "decimal")
                #expect(!lower.contains(pair.map(String.init).joined(separator: " ")), "decimal")
            }
            for byte in secret where byte > 99 { #expect(!lower.contains("\(byte)"), "\(byte) on a line of its own") }
        }
    }

    @Test("Keys of every stage")
    func keys() throws {
        expectHidden(try #require(QRSecret(bytes: Self.pattern(16))), Self.pattern(16))
        expectHidden(try #require(TransferSecret(bytes: Self.pattern(16))), Self.pattern(16))
        expectHidden(try #require(LinkSecret(bytes: Self.pattern(32))), Self.pattern(32))
        expectHidden(try #require(EIDKey(bytes: Self.pattern(64))), Self.pattern(64))
        expectHidden(try #require(PSK(bytes: Self.pattern(32))), Self.pattern(32))
        expectHidden(try #require(TunnelID(bytes: Self.pattern(16))), Self.pattern(16))
        expectHidden(try #require(ContactID(bytes: Self.pattern(40))), Self.pattern(40))
        let key = try #require(ContactKey(bytes: Self.pattern(32)))
        expectHidden(key, Self.pattern(32))
        expectHidden(key.publicKey, key.publicKey.bytes)
        expectHidden(try #require(ClientPayload(bytes: Self.pattern(54))), Self.pattern(54))
    }

    @Test("The plaintext of an advert")
    func eid() throws {
        let domain = try #require(TunnelDomain(id: 0xABAC))
        let routing = try #require(RoutingID(bytes: Self.pattern(3)))
        let eid = try #require(EID(nonce: Self.pattern(10), routingID: routing, domain: domain))
        expectHidden(eid, Self.pattern(10))
    }

    @Test("A QR offer, and a path with its tunnel ID")
    func offer() throws {
        let secret = try #require(QRSecret(bytes: Self.pattern(16)))
        let key = try P256.KeyAgreement.PrivateKey(rawRepresentation: Self.pattern(32))
        let offer = QROffer(clientKey: key.publicKey, secret: secret, created: 1, hint: .getAssertion)
        expectHidden(offer, Self.pattern(16))
        expectHidden(offer.keys, Self.pattern(16))
        let transfer = TransferCode(
            receiverKey: key.publicKey,
            secret: try #require(TransferSecret(bytes: Self.pattern(16))),
            created: 1,
            purpose: .give
        )
        expectHidden(transfer, Self.pattern(16))
        expectHidden(transfer.keys, Self.pattern(16))
        let tunnel = try #require(TunnelID(bytes: Self.pattern(16)))
        expectHidden(TunnelPath.new(tunnel), Self.pattern(16))
        let contact = try #require(ContactID(bytes: Self.pattern(25)))
        expectHidden(TunnelPath.listen(contact), Self.pattern(25))
    }

    @Test("Linking information, also in a message")
    func linking() throws {
        let key = try P256.KeyAgreement.PrivateKey(rawRepresentation: Self.pattern(32))
        let information = try LinkingInformation(
            contactID: #require(ContactID(bytes: Self.pattern(20))),
            linkID: #require(LinkID(bytes: Self.pattern(8))),
            secret: #require(LinkSecret(bytes: Self.pattern(32))),
            authenticatorKey: key,
            name: "Pixel",
            clientKey: key.publicKey,
            handshakeHash: #require(HandshakeHash(bytes: Self.pattern(32)))
        )
        expectHidden(information, Self.pattern(32))
        expectHidden(information, information.signature)
        expectHidden(ChannelMessage.update(information), Self.pattern(32))
        #expect(!"\(information)".contains("Pixel"))
    }

    @Test("The key of a trial decryption")
    func trial() {
        let opener = FrameOpener(key: SymmetricKey(data: Self.pattern(32)))
        expectHidden(opener.next, Self.pattern(32))
    }

    @Test("Only the type's name is printed")
    func exactText() throws {
        let secret = try #require(QRSecret(bytes: Self.pattern(16)))
        #expect("\(secret)" == "QRSecret(hidden)")
        #expect(String(reflecting: secret) == "QRSecret(hidden)")
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    @Test("Secrets are compared by content")
    func equality() throws {
        let secret = try #require(QRSecret(bytes: Self.pattern(16)))
        #expect(secret == QRSecret(bytes: Self.pattern(16)))
        for flipped in Damage.bitFlips(of: Self.pattern(16)) { #expect(secret != QRSecret(bytes: flipped)) }
        var (first, second) = (SeededGenerator(seed: 1), SeededGenerator(seed: 2))
        #expect(QRSecret(using: &first) != QRSecret(using: &second))
        let link = try #require(LinkSecret(bytes: Self.pattern(32)))
        for flipped in Damage.bitFlips(of: Self.pattern(32)) { #expect(link != LinkSecret(bytes: flipped)) }
    }
}
