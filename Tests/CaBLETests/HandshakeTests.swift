// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport
import Testing

@testable import HybridCaBLE

@Suite("Handshakes")
struct HandshakeTests {
    @Test("Both ends derive mirrored keys and the same hash", arguments: [false, true])
    func agreement(linked: Bool) throws {
        var random = SeededGenerator()
        for _ in 0..<20 {
            let one = try Ceremony(using: &random)
            let message1 = try one.message1(linked: linked)
            #expect(message1.count == 81)
            let (message2, phone) = try HandshakeOutcome.answer(one.responder(linked: linked), message1)
            #expect(message2.count == 81)
            let client = try HandshakeOutcome.finish(one.initiator(linked: linked), message2)
            #expect(client.sending == phone.receiving, "\(random)")
            #expect(client.receiving == phone.sending, "\(random)")
            #expect(client.sending != client.receiving, "\(random)")
            #expect(client.hash == phone.hash, "\(random)")
        }
    }

    @Test("The authenticator does not answer a damaged first message", arguments: [false, true])
    func damagedFirst(linked: Bool) throws {
        var random = SeededGenerator()
        let one = try Ceremony(using: &random)
        let message1 = try one.message1(linked: linked)
        for damaged in Damage.truncations(of: message1) + Damage.bitFlips(of: message1) + [message1 + [0]] {
            #expect(throws: HandshakeError.self, "\(random)") {
                try HandshakeOutcome.answer(one.responder(linked: linked), damaged)
            }
        }
    }

    @Test("The client rejects a damaged second message", arguments: [false, true])
    func damagedSecond(linked: Bool) throws {
        var random = SeededGenerator()
        let one = try Ceremony(using: &random)
        let message1 = try one.message1(linked: linked)
        let (message2, _) = try HandshakeOutcome.answer(one.responder(linked: linked), message1)
        for damaged in Damage.truncations(of: message2) + Damage.bitFlips(of: message2) + [message2 + [0]] {
            #expect(throws: HandshakeError.self, "\(random)") {
                try HandshakeOutcome.finish(one.initiator(linked: linked), damaged)
            }
        }
    }

    @Test("A secret of another advert, another client and another authenticator are rejected as not authentic")
    func otherKeys() throws {
        var random = SeededGenerator()
        for _ in 0..<10 {
            let one = try Ceremony(using: &random)
            let other = try Ceremony(using: &random)
            for linked in [false, true] {
                let message1 = try one.message1(linked: linked)
                let deaf =
                    linked
                    ? { ResponderHandshake(authenticatorKey: one.phone, psk: other.psk, ephemeral: one.phoneEphemeral) }
                    : {
                        ResponderHandshake(
                            clientKey: one.client.publicKey,
                            psk: other.psk,
                            ephemeral: one.phoneEphemeral
                        )
                    }
                #expect(throws: HandshakeError.notAuthentic, "\(random)") {
                    try HandshakeOutcome.answer(deaf(), message1)
                }
                #expect(throws: HandshakeError.notAuthentic, "the patterns differ; \(random)") {
                    try HandshakeOutcome.answer(one.responder(linked: !linked), message1)
                }
            }
            let qr = try one.message1(linked: false)
            #expect(throws: HandshakeError.notAuthentic, "\(random)") {
                let wrong = ResponderHandshake(
                    clientKey: other.client.publicKey,
                    psk: one.psk,
                    ephemeral: one.phoneEphemeral
                )
                _ = try HandshakeOutcome.answer(wrong, qr)
            }
            let linked = try one.message1(linked: true)
            #expect(throws: HandshakeError.notAuthentic, "\(random)") {
                let wrong = ResponderHandshake(
                    authenticatorKey: other.phone,
                    psk: one.psk,
                    ephemeral: one.phoneEphemeral
                )
                _ = try HandshakeOutcome.answer(wrong, linked)
            }
        }
    }

    @Test("Reflected messages are rejected", arguments: [false, true])
    func reflection(linked: Bool) throws {
        var random = SeededGenerator()
        let one = try Ceremony(using: &random)
        let message1 = try one.message1(linked: linked)
        #expect(throws: HandshakeError.notAuthentic, "\(random)") {
            try HandshakeOutcome.finish(one.initiator(linked: linked), message1)
        }
    }

    @Test("Points in other forms of the same length are rejected")
    func pointForms() throws {
        var random = SeededGenerator()
        let one = try Ceremony(using: &random)
        let good = try one.message1(linked: false)
        for first: UInt8 in [0, 1, 2, 3, 5, 6, 7, 0x84] {
            var bytes = good
            bytes[0] = first
            #expect(throws: HandshakeError.invalidPoint) {
                try HandshakeOutcome.answer(one.responder(linked: false), bytes)
            }
        }
        for point in [[UInt8(4)] + Array(repeating: 0, count: 64), [4] + Array(repeating: 0xFF, count: 64)] {
            #expect(throws: HandshakeError.invalidPoint) {
                try HandshakeOutcome.answer(one.responder(linked: false), point + good.suffix(16))
            }
        }
    }

    @Test("A tag before any key is reported as a programming error")
    func outOfOrder() {
        #expect(throws: HandshakeError.outOfOrder) {
            var state = SymmetricState(protocolName: "Noise_KNpsk0_P256_AESGCM_SHA256")
            _ = try state.sealEmptyPayload()
        }
        #expect(throws: HandshakeError.outOfOrder) {
            var state = SymmetricState(protocolName: "Noise_KNpsk0_P256_AESGCM_SHA256")
            try state.openEmptyPayload([UInt8](repeating: 0, count: 16))
        }
        #expect(throws: HandshakeError.outOfOrder, "one key, one tag") {
            var state = SymmetricState(protocolName: "Noise_KNpsk0_P256_AESGCM_SHA256")
            state.mixKey(SymmetricKey(size: .bits256))
            _ = try state.sealEmptyPayload()
            _ = try state.sealEmptyPayload()
        }
    }

    @Test("A tag of another length is rejected without a crash", arguments: [0, 1, 12, 15, 17, 32])
    func tagLengths(length: Int) {
        #expect(throws: HandshakeError.notAuthentic) {
            var state = SymmetricState(protocolName: "Noise_KNpsk0_P256_AESGCM_SHA256")
            state.mixKey(SymmetricKey(size: .bits256))
            try state.openEmptyPayload([UInt8](repeating: 0, count: length))
        }
    }
}
