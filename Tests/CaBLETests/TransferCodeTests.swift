// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

@Suite("Codes and messages of transfers")
struct TransferCodeTests {
    private static func code(
        _ random: inout SeededGenerator,
        purpose: TransferPurpose = .give,
        channels: [DataChannelKind] = [.webSocket]
    ) throws -> TransferCode {
        TransferCode(
            receiverKey: try P256.KeyAgreement.PrivateKey(random: &random).publicKey,
            secret: TransferSecret(using: &random),
            created: 1_700_000_000,
            purpose: purpose,
            channels: channels
        )
    }

    @Test("A code survives the round trip field by field", arguments: TransferPurpose.allCases)
    func roundTrip(purpose: TransferPurpose) throws {
        var random = SeededGenerator()
        for channels in [[.webSocket], [.webSocket, .l2cap], [.l2cap]] as [[DataChannelKind]] {
            let code = try Self.code(&random, purpose: purpose, channels: channels)
            let read = try TransferCode(line: code.text)
            #expect(read.receiverKey.rawRepresentation == code.receiverKey.rawRepresentation, "\(random)")
            #expect(read.secret == code.secret, "\(random)")
            #expect(read.created == 1_700_000_000 && read.purpose == purpose && read.channels == channels)
            #expect(read.text == code.text && code.text.utf8.count <= 195 && code.text.hasPrefix("HYBRID:/"))
            let bytes = try #require(DigitCoding.decode(Array(code.text.utf8.dropFirst(8))))
            let map = try #require(CBORDecoder.decode(bytes, mode: .strict).map)
            #expect(map[16] == 1 && map[17] == .text(purpose.rawValue))
            #expect(map[2] == nil && map[4] == nil && map[5] == nil, "these belong to sign-ins")
        }
    }

    @Test("The longest code has 195 characters")
    func longest() throws {
        var random = SeededGenerator()
        let code = TransferCode(
            receiverKey: try P256.KeyAgreement.PrivateKey(random: &random).publicKey,
            secret: TransferSecret(using: &random),
            created: .max,
            purpose: .join,
            channels: [.webSocket, .l2cap]
        )
        #expect(code.text.utf8.count == 195)
    }

    @Test("Each program names the other one for its code")
    func otherPrograms() throws {
        var random = SeededGenerator()
        let transfer = try Self.code(&random)
        let offer = QROffer(
            clientKey: transfer.receiverKey,
            secret: QRSecret(using: &random),
            created: 1,
            hint: .getAssertion
        )
        for text in [transfer.text, transfer.text.lowercased(), "  \(transfer.text)\r\n", "HYBRID:/", "hybrid:/x"] {
            let error = #expect(throws: QROffer.ParseError.transferCode) { try QROffer(line: text) }
            #expect(error?.sentence.contains("hybrid-auth give") == true)
        }
        for text in [offer.text, offer.text.lowercased(), "\u{FEFF}\(offer.text)\n", "FIDO:/", "fido:/x"] {
            let error = #expect(throws: TransferCode.ParseError.signInCode) { try TransferCode(line: text) }
            #expect(error?.sentence.contains("hybrid-auth scan") == true)
        }
        // With the scheme of the other, the members still do not fit.
        let digits = transfer.text.dropFirst(8)
        #expect(throws: TransferCode.ParseError.otherVersion) {
            try TransferCode(line: "HYBRID:/" + offer.text.dropFirst(6))
        }
        #expect(try QROffer(parsing: "FIDO:/" + digits).text != transfer.text)
        for text in ["", "HYBRID:", "HYBR1D:/1", "HYBRID;/1", "\(digits)"] {
            #expect(throws: TransferCode.ParseError.notTransfer) { try TransferCode(line: text) }
            #expect(throws: QROffer.ParseError.notFIDO) { try QROffer(line: text) }
        }
    }

    @Test("No proper prefix of a code is a code, and a flipped bit never crashes")
    func damage() throws {
        var random = SeededGenerator()
        let text = try Self.code(&random).text
        for length in 0..<text.utf8.count {
            #expect(throws: TransferCode.ParseError.self, "\(random)") {
                try TransferCode(line: String(text.prefix(length)))
            }
        }
        for (bit, flipped) in Damage.bitFlips(of: Array(text.utf8)).enumerated() {
            // The case of the scheme has no meaning.
            if bit % 8 == 5, bit / 8 < 6 { continue }
            // The text has no checksum: if it still parses, it must be another code.
            guard let other = try? TransferCode(line: String(decoding: flipped, as: UTF8.self)) else { continue }
            #expect(other.text != text, "\(random)")
        }
    }

    @Test("The age is available only if the clocks agree")
    func age() throws {
        var random = SeededGenerator()
        let code = try Self.code(&random)
        #expect(code.age(at: 1_700_000_060) == 60 && code.age(at: 1_700_000_000) == 0)
        #expect(code.age(at: 1_699_999_999) == nil)
    }

    @Test("A message has a multiple of 512 bytes inside its frame, and at most 1 MiB in it")
    func padding() throws {
        var sealer = FrameSealer(key: SymmetricKey(size: .bits256))
        for length in [0, 1, 509, 510, 511, 512, 5000, TransferFrame.maximumLength] {
            let object = [UInt8](repeating: UInt8(ascii: "{"), count: length)
            let frame = try TransferFrame(padding: object)
            #expect(frame.bytes.prefix(length).elementsEqual(object))
            #expect(frame.bytes.dropFirst(length).allSatisfy { $0 == UInt8(ascii: " ") })
            #expect(frame.bytes.count < length + 512 && frame.bytes.count <= ChannelMessage.maximumBodyLength)
            let message = ChannelMessage.json(frame.bytes).encoded
            #expect(FramePadding.pad(message).count % 512 == 0)
            let sealed = try sealer.seal(message)
            #expect(sealed.bytes.count <= Limits.messageBytes)
        }
        let tooLong = [UInt8](repeating: 0, count: TransferFrame.maximumLength + 1)
        #expect(throws: FrameError.tooLong) { try TransferFrame(padding: tooLong) }
        #expect(TransferFrame(received: [1, 2]).bytes == [1, 2], "the receiver takes any length")
    }
}

/// Nothing of a sign-in is valid in a transfer with the same secret and the same keys, nor the reverse.
@Suite("Separation of transfers and sign-ins")
struct TransferSeparationTests {
    private let own: P256.KeyAgreement.PrivateKey
    private let keys: [CodeKeys]
    private let eid: EID

    init() throws {
        var random = SeededGenerator()
        own = try P256.KeyAgreement.PrivateKey(random: &random)
        let secret = random.bytes(16)
        let offer = QROffer(
            clientKey: own.publicKey,
            secret: QRSecret(checked: secret),
            created: 1,
            hint: .getAssertion
        )
        let code = TransferCode(
            receiverKey: own.publicKey,
            secret: TransferSecret(checked: secret),
            created: 1,
            purpose: .give
        )
        keys = [offer.keys, code.keys]
        let domain = try #require(TunnelDomain(id: 266))
        eid = EID(routingID: RoutingID(node: 1, check: 2), domain: domain, using: &random)
    }

    @Test("The keys of a sign-in code are those that its secret gives")
    func offerKeys() throws {
        let secret = [UInt8](repeating: 9, count: 16)
        let offer = QROffer(
            clientKey: own.publicKey,
            secret: QRSecret(checked: secret),
            created: 1,
            hint: .makeCredential,
            channels: [.l2cap]
        )
        #expect(offer.keys.tunnelID == offer.secret.tunnelID && offer.keys.channels == [.l2cap])
        #expect(eid.sealed(with: offer.keys.eidKey) == eid.sealed(with: offer.secret.eidKey))
        let ephemeral = P256.KeyAgreement.PrivateKey()
        let first = try offer.keys.initiatorHandshake(own, eid, ephemeral: ephemeral)
        let second = try InitiatorHandshake(clientKey: own, psk: offer.secret.psk(for: eid), ephemeral: ephemeral)
        #expect(first.message1 == second.message1)
    }

    @Test("All derived keys differ")
    func derivation() {
        #expect(keys[0].tunnelID != keys[1].tunnelID)
        let secret = SymmetricKey(data: [UInt8](repeating: 1, count: 16))
        var seen: Set<[UInt8]> = []
        for ceremony in [CodeCeremony.signIn, .transfer] {
            let eidKey = KeySchedule.eidKey(secret, salt: [], ceremony)
            seen.insert(eidKey.encryption.testBytes)
            seen.insert(eidKey.authentication.testBytes)
            seen.insert(KeySchedule.psk(secret, for: eid, ceremony).key.testBytes)
            seen.insert(KeySchedule.tunnelID(secret, ceremony).bytes)
        }
        #expect(seen.count == 8)
    }

    @Test("An advert of one opens only with its own key", arguments: [0, 1])
    func adverts(sender: Int) {
        let advert = eid.sealed(with: keys[sender].eidKey)
        #expect(EID.open(advert, with: keys[sender].eidKey) == eid)
        #expect(EID.open(advert, with: keys[1 - sender].eidKey) == nil)
    }

    @Test("A first message of one is not answered in the other", arguments: [0, 1])
    func firstMessage(sender: Int) throws {
        let message = try keys[sender].initiatorHandshake(own, eid, ephemeral: P256.KeyAgreement.PrivateKey()).message1
        #expect(throws: Never.self) {
            _ = try keys[sender].responderHandshake(eid, ephemeral: P256.KeyAgreement.PrivateKey()).answer(message)
        }
        #expect(throws: HandshakeError.notAuthentic) {
            _ = try keys[1 - sender].responderHandshake(eid, ephemeral: P256.KeyAgreement.PrivateKey()).answer(message)
        }
    }

    @Test("Even the same pre-shared key is not enough, because the prologues differ", arguments: [0, 1])
    func prologue(sender: Int) throws {
        let psk = try #require(PSK(bytes: [UInt8](repeating: 5, count: 32)))
        let ceremonies: [CodeCeremony] = sender == 0 ? [.signIn, .transfer] : [.transfer, .signIn]
        let initiator = try InitiatorHandshake(
            clientKey: own,
            psk: psk,
            ephemeral: P256.KeyAgreement.PrivateKey(),
            ceremony: ceremonies[0]
        )
        let message = initiator.message1
        #expect(throws: HandshakeError.notAuthentic) {
            _ = try ResponderHandshake(
                clientKey: own.publicKey,
                psk: psk,
                ephemeral: P256.KeyAgreement.PrivateKey(),
                ceremony: ceremonies[1]
            ).answer(message)
        }
    }
}
