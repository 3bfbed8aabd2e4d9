// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

/// Codes, keys and messages of transfers, compared with a computation in Python.
@Suite("Vectors of transfers")
struct TransferVectorTests {
    private static func vectors() throws -> JSONValue { try VectorFile.load("transfer.json") }

    @Test("Codes are read as they are written")
    func codes() throws {
        let vectors = try Self.vectors().list("codes")
        #expect(vectors.count >= 9)
        for vector in vectors {
            let name = try vector.text("name")
            let code = try TransferCode(line: vector.text("text"))
            #expect(Array(code.receiverKey.x963Representation) == (try vector.hex("receiver_key")), "\(name)")
            #expect(code.secret.key.testBytes == (try vector.hex("secret")), "\(name)")
            #expect(code.purpose.rawValue == (try vector.text("purpose")), "\(name)")
            #expect(code.created == (vector["created"] == nil ? nil : UInt64(try vector.number("created"))), "\(name)")
            let channels = code.channels.map { JSONValue.number($0.rawValue) }
            #expect(channels == (try vector.list("channels")), "\(name)")
            // The text of a code that was parsed has no members that this version does not know.
            #expect(try TransferCode(line: code.text).text == code.text, "\(name)")
            guard ["give", "join", "with Bluetooth", "no time"].contains(name) else { continue }
            #expect(code.text == (try vector.text("text")), "\(name)")
        }
    }

    @Test("Each code that is refused has its own reason")
    func refusals() throws {
        let named: [String: TransferCode.ParseError] = [
            "signInCode": .signInCode, "notTransfer": .notTransfer, "damaged": .damaged,
            "otherVersion": .otherVersion, "unknownPurpose": .unknownPurpose,
        ]
        let vectors = try Self.vectors().list("refused_codes")
        #expect(vectors.count >= 25)
        for vector in vectors {
            let reason = try vector.text("error")
            let error = #expect(throws: TransferCode.ParseError.self) { try TransferCode(line: vector.text("text")) }
            #expect(error == named[reason] ?? .malformed(reason), "\(vector)")
        }
    }

    @Test("The keys, the handshake and the first message of a session")
    func sessions() throws {
        let vectors = try Self.vectors().list("sessions")
        #expect(vectors.count == 2)
        for vector in vectors {
            let keys = try TransferCode(line: vector.text("code")).keys
            let eidKey = keys.eidKey
            #expect(eidKey.encryption.testBytes + eidKey.authentication.testBytes == (try vector.hex("eid_key")))
            #expect(keys.tunnelID.bytes == (try vector.hex("tunnel_id")))
            let advert = try #require(Advert(bytes: vector.hex("advert")))
            let eid = try #require(EID.open(advert, with: eidKey))
            #expect(eid.plaintext == (try vector.hex("eid")))

            func key(_ name: String) throws -> P256.KeyAgreement.PrivateKey {
                try P256.KeyAgreement.PrivateKey(rawRepresentation: vector.hex("\(name)_scalar"))
            }
            let receiver = try keys.initiatorHandshake(key("static"), eid, ephemeral: key("receiver"))
            #expect(receiver.message1.bytes == (try vector.hex("message1")))
            let message1 = receiver.message1
            let answer = try keys.responderHandshake(eid, ephemeral: key("giver")).answer(message1)
            let message2 = answer.message2
            #expect(message2.bytes == (try vector.hex("message2")))
            #expect(answer.keys.handshakeHash.bytes == (try vector.hex("hash")))
            let channel = try receiver.finish(message2)
            #expect(channel.sending.testBytes == (try vector.hex("to_giver")))
            #expect(channel.receiving.testBytes == (try vector.hex("to_receiver")))

            var sealer = FrameSealer(key: channel.sending)
            let frame = try TransferFrame(padding: Array(#"{"type":"hello"}"#.utf8))
            let sealed = try sealer.seal(ChannelMessage.json(frame.bytes).encoded)
            #expect(sealed.bytes == (try vector.hex("frame_to_giver")))
        }
    }

    @Test("Lengths of messages")
    func frames() throws {
        let vectors = try Self.vectors()
        #expect(TransferFrame.maximumLength == (try vectors.number("longest")))
        for vector in try vectors.list("frames") {
            let object = [UInt8](repeating: UInt8(ascii: "x"), count: try vector.number("length"))
            let body = try TransferFrame(padding: object).bytes
            #expect(body.count == (try vector.number("padded")))
            var sealer = FrameSealer(key: SymmetricKey(size: .bits256))
            let frame = try sealer.seal(ChannelMessage.json(body).encoded)
            #expect(frame.bytes.count == (try vector.number("frame")))
        }
    }
}
