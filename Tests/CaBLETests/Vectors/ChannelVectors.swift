// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import TestSupport
import Testing

@testable import HybridCaBLE

enum ChannelVectors {
    static func transport(_ value: JSONValue) throws -> Int {
        var checked = 0
        for vector in try value.list("frames") {
            try frame(vector)
            checked += 1
        }
        for rule in try value.list("unpad_rules") {
            try unpad(rule)
            checked += 1
        }
        try legacy(value.value("legacy_v2_0_construction"))
        try published(value.value("published_webauthn_rs"))
        return checked + 2
    }

    private static func frame(_ vector: JSONValue) throws {
        let name = Comment(rawValue: try vector.text("name"))
        let key = SymmetricKey(data: try vector.hex("key"))
        let counter = try #require(UInt32(exactly: try vector.number("counter")))
        let (message, ciphertext) = (try vector.hex("message"), try vector.hex("ciphertext"))
        #expect(FrameNonce.bytes(counter) == (try vector.hex("nonce")), name)
        #expect(FramePadding.pad(message) == (try vector.hex("padded")), name)
        #expect(try FramePadding.unpad(vector.hex("padded")) == message, name)
        var sealer = FrameSealer(key: key, counter: counter)
        let sealed = try sealer.seal(message)
        #expect(sealed.bytes == ciphertext, name)
        var opener = FrameOpener(key: key, counter: counter)
        let opened = try opener.open(Frame(bytes: ciphertext))
        #expect(opened == message, name)
        guard counter == Limits.frameCounter else { return }
        #expect(counter == 16_777_215, name)
        do throws(FrameError) {
            _ = try sealer.seal(message)
            Issue.record("sealed beyond the last counter")
        } catch { #expect(error == .counterExhausted, name) }
        do throws(FrameError) {
            _ = try opener.open(Frame(bytes: ciphertext))
            Issue.record("opened beyond the last counter")
        } catch { #expect(error == .counterExhausted, name) }
    }

    private static func unpad(_ rule: JSONValue) throws {
        let padded = try rule.hex("padded")
        if rule["expect"] != nil {
            #expect(throws: FrameError.padding, "\(rule)") { try FramePadding.unpad(padded) }
        } else {
            let message = rule["message"] == nil ? Array(padded.dropLast(4)) : try rule.hex("message")
            #expect(try FramePadding.unpad(padded) == message, "\(rule)")
        }
    }

    /// Rejects frames of revision 0, which had another nonce and authenticated an additional byte.
    private static func legacy(_ vector: JSONValue) throws {
        let key = SymmetricKey(data: try vector.hex("key"))
        let frame = Frame(bytes: try vector.hex("ciphertext"))
        for counter in 0...UInt32(try vector.number("counter")) + 1 {
            #expect(throws: FrameError.notAuthentic) { try FrameOpener(key: key, counter: counter).next.open(frame) }
        }
    }

    private static func published(_ vector: JSONValue) throws {
        let counter = UInt32(try vector.number("counter"))
        let (message, ciphertext) = (try vector.hex("message"), try vector.hex("ciphertext"))
        let writing = SymmetricKey(data: try vector.hex("write_key"))
        #expect(FramePadding.pad(message) == (try vector.hex("padded")))
        var sealer = FrameSealer(key: writing, counter: counter)
        let sealed = try sealer.seal(message)
        #expect(sealed.bytes == ciphertext)
        #expect(try FrameOpener(key: writing, counter: counter).next.open(sealed) == message)
        let reading = SymmetricKey(data: try vector.hex("read_key"))
        #expect(throws: FrameError.notAuthentic) { try FrameOpener(key: reading, counter: counter).next.open(sealed) }
    }

    // MARK: - The authenticator's first message

    static func postHandshake(_ value: JSONValue) throws -> Int {
        var checked = 0
        for vector in try value.elements {
            let name = Comment(rawValue: try vector.text("name"))
            let cbor = try vector.hex("cbor")
            let message = try PostHandshakeMessage(parsing: cbor)
            let decoded = try vector.value("decoded")
            #expect(message.info == (try decoded.hex("1")), name)
            let features = try decoded["3"]?.elements ?? [.text("ctap")]
            #expect(Set(message.features.map { JSONValue.text($0.rawValue) }) == Set(features), name)
            #expect(message.linking == nil, name)
            #expect(message.encoded == cbor, name)
            let info = try CBORDecoder.decode(try decoded.hex("1"), mode: .lenient)
            #expect(matches(try vector.value("getInfo_decoded"), info), name)
            checked += 1
        }
        return checked
    }

    /// Returns true if JSON is equivalent to CBOR: byte strings as hexadecimal digits, integer keys as texts.
    private static func matches(_ json: JSONValue, _ cbor: CBORValue) -> Bool {
        switch (json, cbor) {
        case (.number(let left), _): return cbor.integer == left
        case (.boolean(let left), .boolean(let right)): return left == right
        case (.text(let left), .text(let right)): return left == right
        case (.text(let left), .bytes(let right)): return left == Hexadecimal.text(right)
        case (.list(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy(matches)
        case (.object(let left), .map(let right)):
            return left.count == right.count
                && left.allSatisfy { key, value in
                    let found = right[.text(key)] ?? Int(key).flatMap { right[.integer($0)] }
                    return found.map { matches(value, $0) } ?? false
                }
        default: return false
        }
    }
}
