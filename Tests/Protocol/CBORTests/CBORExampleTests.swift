// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import TestSupport
import Testing

/// Examples of RFC 8949 appendix A and CTAP 2.2 §8.
@Suite("CBOR examples from the specifications")
struct CBORExampleTests {
    static let examples: [(hex: String, value: CBORValue)] = [
        ("00", 0), ("01", 1), ("0a", 10), ("17", 23), ("1818", 24), ("1819", 25), ("1864", 100), ("1903e8", 1000),
        ("1a000f4240", 1_000_000), ("1b000000e8d4a51000", 1_000_000_000_000),
        ("1bffffffffffffffff", .unsigned(.max)), ("3bffffffffffffffff", .negative(.max)),
        ("20", -1), ("29", -10), ("3863", -100), ("3903e7", -1000),
        ("f4", false), ("f5", true), ("f6", .null), ("f7", .undefined),
        ("f90000", .float(.half(0))), ("f93c00", .float(.half(0x3C00))), ("fa47c35000", .float(.single(0x47C3_5000))),
        ("fb3ff199999999999a", .float(.double(0x3FF1_9999_9999_999A))), ("f97e00", .float(.half(0x7E00))),
        ("40", .bytes([])), ("4401020304", .bytes([1, 2, 3, 4])),
        ("60", ""), ("6161", "a"), ("6449455446", "IETF"), ("62225c", "\"\\"), ("62c3bc", "\u{FC}"),
        ("63e6b0b4", "\u{6C34}"), ("64f0908591", "\u{10151}"),
        ("80", []), ("83010203", [1, 2, 3]), ("8301820203820405", [1, [2, 3], [4, 5]]),
        ("a0", [:]), ("a201020304", [1: 2, 3: 4]), ("a26161016162820203", ["a": 1, "b": [2, 3]]),
        ("826161a161626163", ["a", ["b": "c"]]),
        ("a56161614161626142616361436164614461656145", ["a": "A", "b": "B", "c": "C", "d": "D", "e": "E"]),
        // CTAP2 order: integers (positive, then negative) before byte strings before texts; shorter before longer.
        (
            "a60a001864002000410000617a0062616100",
            [
                10: 0, 100: 0, -1: 0, .bytes([0]): 0, "z": 0, "aa": 0,
            ]
        ),
    ]

    @Test("Encoding gives the expected bytes, and both modes decode them", arguments: examples.indices)
    func example(index: Int) throws {
        let (hex, value) = Self.examples[index]
        #expect(Hexadecimal.text(CBOREncoder.encode(value)) == hex)
        let bytes = try #require(Hexadecimal.bytes(hex))
        #expect(try CBORDecoder.decode(bytes, mode: .strict) == value)
        #expect(try CBORDecoder.decode(bytes, mode: .lenient) == value)
    }

    @Test("Keys are encoded in canonical order, whatever their insertion order")
    func keyOrder() {
        let forwards: CBORMap = [1: 1, 24: 2, -1: 3, "b": 4, "aa": 5, .bytes([9]): 6, false: 7]
        let backwards: CBORMap = [false: 7, .bytes([9]): 6, "aa": 5, "b": 4, -1: 3, 24: 2, 1: 1]
        #expect(Hexadecimal.text(CBOREncoder.encode(forwards)) == "a701011818022003410906616204626161" + "05f407")
        #expect(CBOREncoder.encode(forwards) == CBOREncoder.encode(backwards))
        #expect(forwards == backwards)
        #expect(forwards.hashValue == backwards.hashValue)
        #expect(forwards.keys.first == 1)
        #expect(backwards.keys.first == false)
    }

    @Test("Values of different kinds have different hashes, so that no map can be filled with keys of one hash")
    func hashes() {
        let values: [CBORValue] = [
            0, -1, .negative(0), .bytes([]), "", [], [:], false, true, .null, .undefined, .float(.half(0)), .bytes([1]),
            "\u{1}",
        ]
        #expect(Set(values.map(\.hashValue)).count == Set(values).count)
    }

    @Test("Removing a key deletes its entry; changing one keeps its position")
    func mapEditing() {
        var map: CBORMap = [1: "a", 2: "b", 3: "c"]
        map[1] = "z"
        map[2] = nil
        map[9] = nil
        #expect(map.keys == [1, 3])
        #expect(map.count == 2)
        #expect(!map.isEmpty)
        #expect(map[2] == nil)
        #expect(CBOREncoder.encode(map) == [0xA2, 1, 0x61, 0x7A, 3, 0x61, 0x63])
    }

    @Test("Accessors return values of their own type only")
    func accessors() {
        #expect(CBORValue.integer(.min).integer == .min)
        #expect(CBORValue.integer(.max).integer == .max)
        #expect(CBORValue.unsigned(.max).integer == nil)
        #expect(CBORValue.negative(.max).integer == nil)
        #expect(CBORValue.negative(UInt64(Int.max)).integer == .min)
        let values: [CBORValue] = [1, -1, .bytes([1]), "t", [1], [1: 1], true, .null, .undefined, .float(.half(1))]
        #expect(values.compactMap(\.integer) == [1, -1])
        #expect(values.compactMap(\.bytes) == [[1]])
        #expect(values.compactMap(\.text) == ["t"])
        #expect(values.compactMap(\.array) == [[1]])
        #expect(values.compactMap(\.map) == [[1: 1]])
        #expect(values.compactMap(\.boolean) == [true])
    }

    @Test("The original encoding of a map's value is found, only in a map that fills the input")
    func encodedValue() {
        // Lengths in longer forms, and unordered keys.
        let map: [UInt8] = [0xA2, 3, 0x58, 1, 7, 0x18, 1, 0x81, 0x19, 0, 5]
        #expect(CBORDecoder.encodedValue(of: 3, inMap: map) == [0x58, 1, 7])
        #expect(CBORDecoder.encodedValue(of: 1, inMap: map) == [0x81, 0x19, 0, 5])
        #expect(CBORDecoder.encodedValue(of: 2, inMap: map) == nil)
        for length in map.indices { #expect(CBORDecoder.encodedValue(of: 3, inMap: map[..<length]) == nil) }
        for other in [map + [0], [0x81, 3], [0xBF, 3, 0, 0xFF], [0xBB] + [UInt8](repeating: 0xFF, count: 8)] {
            #expect(CBORDecoder.encodedValue(of: 3, inMap: other) == nil)
        }
        #expect(CBORDecoder.encodedValue(of: 3, inMap: map, limits: CBORLimits(bytes: 10)) == nil)
    }

    @Test("Decoding a prefix returns the length of the item")
    func prefix() throws {
        let (value, length) = try CBORDecoder.decodePrefix([0x82, 1, 2, 0xFF, 0xFF], mode: .strict)
        #expect(value == [1, 2])
        #expect(length.consumed == 3)
        #expect(length.total == 5)
    }
}
