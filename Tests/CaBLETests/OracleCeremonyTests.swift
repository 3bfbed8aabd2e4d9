// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

/// Handshakes between this implementation and an independent one based on libcrypto.
@Suite("Against an independent implementation")
struct OracleCeremonyTests {
    static let rounds = 50

    @Test("Our client and the oracle's authenticator agree", arguments: [false, true])
    func ourInitiator(linked: Bool) throws {
        var random = SeededGenerator()
        for _ in 0..<Self.rounds {
            let one = try Ceremony(using: &random)
            let handshake = try one.initiator(linked: linked)
            let theirs =
                linked
                ? try OpenSSLOracleHandshake.answer(
                    handshake.message1.bytes,
                    phoneStatic: one.phone.scalar,
                    psk: one.pskBytes,
                    ephemeral: one.phoneEphemeral.scalar
                )
                : try OpenSSLOracleHandshake.answer(
                    handshake.message1.bytes,
                    clientStatic: one.client.point,
                    psk: one.pskBytes,
                    ephemeral: one.phoneEphemeral.scalar
                )
            let message2 = try #require(HandshakeMessage(bytes: theirs.message2))
            let keys = try handshake.finish(message2)
            let hash = keys.handshakeHash.bytes
            #expect(hash == theirs.channel.hash, "\(random)")
            var crypter = keys.open()
            try exchange(
                &crypter,
                sends: theirs.channel.toResponder,
                receives: theirs.channel.toInitiator,
                using: &random
            )
        }
    }

    @Test("The oracle's client and our authenticator agree", arguments: [false, true])
    func ourResponder(linked: Bool) throws {
        var random = SeededGenerator()
        for _ in 0..<Self.rounds {
            let one = try Ceremony(using: &random)
            let theirs =
                linked
                ? try OpenSSLOracleHandshake.initiator(
                    phoneStatic: one.phone.point,
                    psk: one.pskBytes,
                    ephemeral: one.clientEphemeral.scalar
                )
                : try OpenSSLOracleHandshake.initiator(
                    clientStatic: one.client.scalar,
                    psk: one.pskBytes,
                    ephemeral: one.clientEphemeral.scalar
                )
            let message1 = try #require(HandshakeMessage(bytes: theirs.message1))
            let answer = try one.responder(linked: linked).answer(message1)
            let channel = try theirs.finish(answer.message2.bytes)
            let hash = answer.keys.handshakeHash.bytes
            #expect(hash == channel.hash, "\(random)")
            var crypter = answer.takeKeys().open()
            try exchange(&crypter, sends: channel.toInitiator, receives: channel.toResponder, using: &random)
        }
    }

    @Test("Both roles produce the same bytes as the oracle", arguments: [false, true])
    func bytes(linked: Bool) throws {
        var random = SeededGenerator()
        for _ in 0..<Self.rounds {
            let one = try Ceremony(using: &random)
            let ours = try HandshakeOutcome.answer(one.responder(linked: linked), try one.message1(linked: linked))
            let message1: [UInt8]
            let theirs: (message2: [UInt8], channel: OpenSSLOracleHandshake.Channel)
            let ephemeral = one.phoneEphemeral.scalar
            if linked {
                message1 = try OpenSSLOracleHandshake.initiator(
                    phoneStatic: one.phone.point,
                    psk: one.pskBytes,
                    ephemeral: one.clientEphemeral.scalar
                ).message1
                theirs = try OpenSSLOracleHandshake.answer(
                    message1,
                    phoneStatic: one.phone.scalar,
                    psk: one.pskBytes,
                    ephemeral: ephemeral
                )
            } else {
                message1 = try OpenSSLOracleHandshake.initiator(
                    clientStatic: one.client.scalar,
                    psk: one.pskBytes,
                    ephemeral: one.clientEphemeral.scalar
                ).message1
                theirs = try OpenSSLOracleHandshake.answer(
                    message1,
                    clientStatic: one.client.point,
                    psk: one.pskBytes,
                    ephemeral: ephemeral
                )
            }
            #expect(try one.message1(linked: linked) == message1, "\(random)")
            #expect(ours.message2 == theirs.message2, "\(random)")
            #expect(ours.outcome.sending == theirs.channel.toInitiator, "\(random)")
            #expect(ours.outcome.receiving == theirs.channel.toResponder, "\(random)")
        }
    }

    @Test("The oracle rejects another secret and another static key, too", arguments: [false, true])
    func refusals(linked: Bool) throws {
        var random = SeededGenerator()
        let one = try Ceremony(using: &random)
        let other = try Ceremony(using: &random)
        let message1 = try one.message1(linked: linked)
        #expect(throws: OpenSSLOracle.Refusal.notAuthentic, "\(random)") {
            if linked {
                _ = try OpenSSLOracleHandshake.answer(
                    message1,
                    phoneStatic: one.phone.scalar,
                    psk: other.pskBytes,
                    ephemeral: one.phoneEphemeral.scalar
                )
            } else {
                _ = try OpenSSLOracleHandshake.answer(
                    message1,
                    clientStatic: other.client.point,
                    psk: one.pskBytes,
                    ephemeral: one.phoneEphemeral.scalar
                )
            }
        }
    }

    @Test("Derived keys and adverts are the same as the oracle's")
    func schedule() throws {
        var random = SeededGenerator()
        for _ in 0..<200 {
            let secretBytes = random.bytes(16)
            let secret = try #require(QRSecret(bytes: secretBytes))
            let eidKey = try OpenSSLOracle.derive(secretBytes, purpose: 1, length: 64)
            #expect(
                secret.tunnelID.bytes == (try OpenSSLOracle.derive(secretBytes, purpose: 2, length: 16)),
                "\(random)"
            )
            #expect(secret.eidKey.encryption.testBytes + secret.eidKey.authentication.testBytes == eidKey, "\(random)")
            let domain = try #require(TunnelDomain(id: UInt16.random(in: 256 ... .max, using: &random)))
            let nonce = random.bytes(10)
            let routing = random.bytes(3)
            let eid = try #require(EID(nonce: nonce, routingID: RoutingID(checked: routing), domain: domain))
            let plaintext = [0] + nonce + routing + [UInt8(domain.id & 0xFF), UInt8(domain.id >> 8)]
            let advert = try OpenSSLOracle.advert(plaintext: plaintext, eidKey: eidKey)
            #expect(eid.sealed(with: secret.eidKey).bytes == advert, "\(random)")
            let heard = try #require(EID.open(Advert(checked: advert), with: secret.eidKey), "\(random)")
            #expect(heard == eid, "\(random)")
            let psk = try OpenSSLOracle.derive(secretBytes, salt: plaintext, purpose: 3, length: 32)
            #expect(secret.psk(for: heard).key.testBytes == psk, "\(random)")

            let linkBytes = random.bytes(32)
            let nonceBytes = random.bytes(16)
            let link = try #require(LinkSecret(bytes: linkBytes))
            let contact = try #require(ContactNonce(bytes: nonceBytes))
            let linkKey = link.eidKey(nonce: contact)
            #expect(
                linkKey.encryption.testBytes + linkKey.authentication.testBytes
                    == (try OpenSSLOracle.derive(linkBytes, salt: nonceBytes, purpose: 1, length: 64)),
                "\(random)"
            )
            #expect(
                link.psk(for: eid).key.testBytes
                    == (try OpenSSLOracle.derive(linkBytes, salt: plaintext, purpose: 3, length: 32)),
                "\(random)"
            )
        }
    }

    /// Exchanges a few messages, encrypted and decrypted by libcrypto under the oracle's keys.
    private func exchange(
        _ crypter: inout ChannelCrypter,
        sends: [UInt8],
        receives: [UInt8],
        using random: inout SeededGenerator
    ) throws {
        for counter in 0..<3 {
            let nonce = [UInt8](repeating: 0, count: 11) + [UInt8(counter)]
            let message = random.bytes(random.number(0...100))
            let frame = try crypter.sealer.seal(message)
            let padded = try OpenSSLOracle.open(frame.bytes, key: sends, nonce: nonce)
            #expect(padded.count.isMultiple(of: 32), "\(random)")
            #expect(padded.dropLast(Int(padded.last ?? 0) + 1).elementsEqual(message), "\(random)")

            let reply = random.bytes(random.number(0...100))
            let sealed = try OpenSSLOracle.seal(reply + [0, 0, 2], key: receives, nonce: nonce)
            let opened = try crypter.opener.open(Frame(bytes: sealed))
            #expect(opened == reply, "\(random)")
        }
    }
}
