// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import TestSupport
import Testing

/// Properties of all values and inputs, tested with random ones.
@Suite("CBOR properties")
struct CBORPropertyTests {
    @Test("Encoded values decode to the same value in both modes, and encode to the same bytes")
    func roundTrip() throws {
        var random = SeededGenerator()
        for _ in 0..<2000 {
            let value = RandomCBOR.value(using: &random)
            let bytes = CBOREncoder.encode(value)
            #expect(try CBORDecoder.decode(bytes, mode: .strict) == value, "\(random)")
            let lenient = try CBORDecoder.decode(bytes, mode: .lenient)
            #expect(lenient == value, "\(random)")
            #expect(CBOREncoder.encode(lenient) == bytes, "\(random)")
        }
    }

    @Test(
        "With longer heads and other key orders, lenient mode decodes the same value and strict mode rejects the input"
    )
    func lenience() throws {
        var random = SeededGenerator()
        var (widened, reordered) = (0, 0)
        for _ in 0..<3000 {
            let value = CBORValue.map(RandomCBOR.map(depth: 3, using: &random))
            var writer = NonCanonicalEncoder(
                widens: Bool.random(using: &random),
                reorders: Bool.random(using: &random)
            )
            let bytes = writer.encode(value, using: &random)
            #expect(try CBORDecoder.decode(bytes, mode: .lenient) == value, "\(random)")
            switch (writer.widened, writer.reordered) {
            case (false, false):
                #expect(try CBORDecoder.decode(bytes, mode: .strict) == value, "\(random)")
            case (true, false):
                widened += 1
                #expect(throws: CBORError.notShortest, "\(random)") { try CBORDecoder.decode(bytes, mode: .strict) }
            case (false, true):
                reordered += 1
                #expect(throws: CBORError.keyOrder, "\(random)") { try CBORDecoder.decode(bytes, mode: .strict) }
            case (true, true):
                #expect(throws: CBORError.self, "\(random)") { try CBORDecoder.decode(bytes, mode: .strict) }
            }
        }
        #expect(widened > 50 && reordered > 50, "enough cases were generated; \(random)")
    }

    @Test("No prefix of an item is an item")
    func truncation() throws {
        var random = SeededGenerator()
        for _ in 0..<300 {
            let bytes = CBOREncoder.encode(RandomCBOR.value(depth: 3, using: &random))
            for prefix in Damage.truncations(of: bytes) {
                for mode in [CBORDecoder.Mode.strict, .lenient] {
                    #expect(throws: CBORError.truncated, "\(random)") { try CBORDecoder.decode(prefix, mode: mode) }
                }
            }
        }
    }

    @Test("No item with trailing bytes is an item")
    func trailingBytes() throws {
        var random = SeededGenerator()
        for _ in 0..<300 {
            let bytes = CBOREncoder.encode(RandomCBOR.value(depth: 3, using: &random))
            let longer = bytes + random.bytes(random.number(1...9))
            for mode in [CBORDecoder.Mode.strict, .lenient] {
                #expect(throws: CBORError.trailingBytes, "\(random)") { try CBORDecoder.decode(longer, mode: mode) }
                #expect(try CBORDecoder.decodePrefix(longer, mode: mode).length.consumed == bytes.count, "\(random)")
            }
        }
    }

    @Test("Keys that differ in the length of their heads are the same key")
    func duplicateWidths() throws {
        var random = SeededGenerator()
        for _ in 0..<500 {
            let number = RandomCBOR.integer(using: &random) >> 33
            let major: UInt8 = Bool.random(using: &random) ? 0 : 1
            let least = number < 24 ? 0 : number < 0x100 ? 1 : number < 0x1_0000 ? 2 : 4
            let widths = [0, 1, 2, 4, 8].filter { $0 >= least }.shuffled(using: &random)
            let bytes =
                [0xA2] + NonCanonicalEncoder.head(major, number, width: widths[0]) + [0xF6]
                + NonCanonicalEncoder.head(major, number, width: widths[1]) + [0xF5]
            #expect(throws: CBORError.duplicateKey, "\(random)") { try CBORDecoder.decode(bytes, mode: .lenient) }
            #expect(throws: CBORError.notShortest, "\(random)") { try CBORDecoder.decode(bytes, mode: .strict) }
        }
    }

    @Test("Texts are the same key only if their bytes are the same")
    func textIdentity() throws {
        // These pairs are equal for Swift, but not for CBOR.
        for (left, right) in [("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), (";", "\u{37E}")] {
            #expect(left == right)
            #expect(CBORValue.text(left) != .text(right))
            let map: CBORMap = [.text(left): 1, .text(right): 2]
            #expect(map.count == 2)
            let bytes = CBOREncoder.encode(map)
            #expect(try CBORDecoder.decode(bytes, mode: .strict) == .map(map))
            #expect(try CBORDecoder.decode(bytes, mode: .lenient).map?[.text(right)] == 2)
        }
    }

    @Test("Random bytes never crash the decoder, and strict mode accepts canonical input only")
    func noise() throws {
        var random = SeededGenerator()
        for _ in 0..<20_000 {
            var bytes = random.bytes(random.number(0...24))
            if let first = bytes.first, Bool.random(using: &random) { bytes[0] = 0x80 | first & 0x2F }
            if let value = try? CBORDecoder.decode(bytes, mode: .strict) {
                #expect(CBOREncoder.encode(value) == bytes, "\(random)")
            }
            if let value = try? CBORDecoder.decode(bytes, mode: .lenient) {
                #expect(try CBORDecoder.decode(CBOREncoder.encode(value), mode: .strict) == value, "\(random)")
            }
        }
    }

    @Test("Flipping a bit of canonical input gives another value or an error")
    func bitFlips() throws {
        var random = SeededGenerator()
        for _ in 0..<200 {
            let value = RandomCBOR.value(depth: 2, using: &random)
            for flipped in Damage.bitFlips(of: Array(CBOREncoder.encode(value).prefix(64))) {
                guard let other = try? CBORDecoder.decode(flipped, mode: .strict) else { continue }
                #expect(other != value, "\(random)")
                #expect(CBOREncoder.encode(other) == flipped, "\(random)")
            }
        }
    }
}
