// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import TestSupport
import Testing

@testable import HybridCaBLE

@Suite("Channel messages")
struct ChannelMessageTests {
    @Test("Every type is encoded and decoded")
    func roundTrip() throws {
        var random = SeededGenerator()
        for _ in 0..<50 {
            let body = random.bytes(random.number(0...60))
            guard case .ctap(let payload) = try ChannelMessage(parsing: [1] + body) else {
                Issue.record("type 1 is CTAP")
                return
            }
            #expect(payload == body)
            #expect(ChannelMessage.ctap(payload).encoded == [1] + body)
            guard case .json(let json) = try ChannelMessage(parsing: [3] + body) else {
                Issue.record("type 3 is JSON")
                return
            }
            #expect(json == body)
            #expect(ChannelMessage.json(json).encoded == [3] + body)
        }
        #expect(ChannelMessage.shutdown.encoded == [0])
        // An update without a link has the length of one with a link.
        #expect(ChannelMessage.update(nil).encoded == [2, 0xA1, 0, 0x59, 1, 0xF9] + [UInt8](repeating: 0, count: 505))
        for bytes: [UInt8] in [[0], [0, 1, 2]] {
            guard case .shutdown = try ChannelMessage(parsing: bytes) else {
                Issue.record("type 0 is shutdown")
                return
            }
        }
        for bytes: [UInt8] in [[2, 0xA0], [2, 0xA1, 0x00, 0x41, 0x00], [2, 0xA1, 0x18, 0x09, 0x00]] {
            guard case .update(nil) = try ChannelMessage(parsing: bytes) else {
                Issue.record("type 2 without linking information is an update")
                return
            }
        }
    }

    @Test("Types above 3 are rejected with their number", arguments: UInt8(4)...255)
    func unknownTypes(type: UInt8) {
        #expect(throws: ChannelMessage.ParseError.unknownType(type)) { try ChannelMessage(parsing: [type, 0xA0]) }
    }

    @Test("An empty message is rejected")
    func empty() {
        #expect(throws: ChannelMessage.ParseError.empty) { try ChannelMessage(parsing: []) }
    }

    @Test(
        "An update other than a map is rejected",
        arguments: [
            "", "80", "00", "a0 00", "a1", "bf ff", "a2 01 a0 01 a0",
            "a2 00 00 18 00 00",
        ]
    )
    func malformedUpdates(hex: String) throws {
        let body = try #require(Hexadecimal.bytes(hex.filter { $0 != " " }))
        #expect(throws: ChannelMessage.ParseError.malformedUpdate) { try ChannelMessage(parsing: [2] + body) }
    }
}

@Suite("The authenticator's first message")
struct PostHandshakeMessageTests {
    static let info: [UInt8] = [0xA1, 0x01, 0x81, 0x68] + Array("FIDO_2_0".utf8)

    @Test("Ours contains getInfo only: CTAP needs no list of features")
    func ours() throws {
        let message = PostHandshakeMessage(info: Self.info)
        #expect(message.encoded == [0xA1, 0x01, 0x4C] + Self.info)
        let read = try PostHandshakeMessage(parsing: message.encoded)
        #expect(read.info == Self.info)
        #expect(read.features == [.ctap])
        #expect(read.linking == nil)
    }

    @Test("Any key order, unknown keys and unknown features are accepted")
    func lenient() throws {
        let bytes: [UInt8] =
            [0xA4, 0x03, 0x83, 0x62, 0x64, 0x63, 0x64] + Array("ctap".utf8) + [0x07]
            + [0x18, 0x63, 0xF6, 0x01, 0x58, 0x01, 0xA0, 0x00, 0x42, 0x00, 0x00]
        let message = try PostHandshakeMessage(parsing: bytes)
        #expect(message.features == [.ctap, .digitalCredentials])
        #expect(message.info == [0xA0])
    }

    @Test("An authenticator without CTAP lists its features and sends no getInfo")
    func credentialsOnly() throws {
        let message = try PostHandshakeMessage(parsing: CBOREncoder.encode([3: ["dc"]] as CBORMap))
        #expect(message.features == [.digitalCredentials])
        #expect(message.info == nil)
        #expect(message.encoded == CBOREncoder.encode([3: ["dc"]] as CBORMap))
    }

    @Test("Each fault has its own error")
    func refusals() {
        let info = CBORValue.bytes(Self.info)
        let cases: [(CBORMap, PostHandshakeMessage.ParseError)] = [
            ([:], .malformedInfo),
            ([1: .map([:])], .malformedInfo),
            ([1: "info"], .malformedInfo),
            ([3: ["ctap"]], .malformedInfo),
            ([1: info, 3: ["dc"]], .malformedInfo),
            ([1: info, 3: []], .malformedInfo),
            ([1: info, 3: [1, .null, "CTAP"]], .malformedInfo),
            ([1: info, 3: "ctap"], .malformedFeatures),
            ([1: info, 3: .null], .malformedFeatures),
            ([1: info, 3: ["ctap": true]], .malformedFeatures),
        ]
        for (map, error) in cases {
            #expect(throws: error, "\(map)") { try PostHandshakeMessage(parsing: CBOREncoder.encode(map)) }
        }
    }

    @Test("Malformed linking information counts as absent", arguments: [.null, [:], [1: .bytes([1])]] as [CBORValue])
    func malformedLinking(linking: CBORValue) throws {
        let info = CBORValue.bytes(Self.info)
        let first = try PostHandshakeMessage(parsing: CBOREncoder.encode([1: info, 2: linking] as CBORMap))
        #expect(first.info == Self.info)
        #expect(first.linking == nil)
        let update = try ChannelMessage(parsing: [2] + CBOREncoder.encode([1: linking] as CBORMap))
        guard case .update(nil) = update else {
            Issue.record("unexpected message: \(update)")
            return
        }
    }

    @Test("Input other than a map is rejected, as from obsolete phones")
    func notAMap() {
        let good = CBOREncoder.encode([1: .bytes(Self.info)] as CBORMap)
        let obsolete = good + [UInt8](repeating: 0, count: 512 - good.count - 2) + [0xF0, 0x01]
        for bytes in [[], [0x80], [0x01], good + [0x00], obsolete, [0xC1] + good, [0xBF, 0xFF]]
            + Damage.truncations(of: good)
        {
            #expect(throws: PostHandshakeMessage.ParseError.notAMap) { try PostHandshakeMessage(parsing: bytes) }
        }
    }
}
