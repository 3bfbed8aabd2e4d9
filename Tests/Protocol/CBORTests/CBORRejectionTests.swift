// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import TestSupport
import Testing

/// A named case for each violation of CTAP2's subset of CBOR.
@Suite("Rejected CBOR")
struct CBORRejectionTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let why: String
        let hex: String
        let strict: CBORError
        /// `nil` if lenient mode accepts the input.
        let lenient: CBORError?

        init(_ why: String, _ hex: String, _ strict: CBORError, lenient: CBORError?) {
            (self.why, self.hex, self.strict, self.lenient) = (why, hex, strict, lenient)
        }

        init(_ why: String, _ hex: String, both: CBORError) { self.init(why, hex, both, lenient: both) }

        var testDescription: String { why }
    }

    static let cases: [Case] = [
        Case("nothing", "", both: .truncated),
        Case("a head without its number, 1 byte", "18", both: .truncated),
        Case("a head without its number, 2 bytes", "1901", both: .truncated),
        Case("a head without its number, 4 bytes", "1a010203", both: .truncated),
        Case("a head without its number, 8 bytes", "1b01020304050607", both: .truncated),
        Case("a float without its bits", "f93c", both: .truncated),
        Case("a byte string cut off", "43aabb", both: .truncated),
        Case("a text cut off", "636162", both: .truncated),
        Case("an array cut off", "8201", both: .truncated),
        Case("a map without its value", "a101", both: .truncated),
        Case("a byte behind the item", "0000", both: .trailingBytes),
        Case("a byte after a map", "a000", both: .trailingBytes),
        Case("23 in two bytes", "1817", .notShortest, lenient: nil),
        Case("255 in three bytes", "1900ff", .notShortest, lenient: nil),
        Case("65535 in five bytes", "1a0000ffff", .notShortest, lenient: nil),
        Case("2³²−1 in nine bytes", "1b00000000ffffffff", .notShortest, lenient: nil),
        Case("−24 in two bytes", "3817", .notShortest, lenient: nil),
        Case("the length of a byte string in two bytes", "580100", .notShortest, lenient: nil),
        Case("the length of a text in three bytes", "79000161", .notShortest, lenient: nil),
        Case("the length of an array in two bytes", "980100", .notShortest, lenient: nil),
        Case("the length of a map in two bytes", "b8010000", .notShortest, lenient: nil),
        Case("integers out of order", "a202000100", .keyOrder, lenient: nil),
        Case("a negative key before a positive", "a220000100", .keyOrder, lenient: nil),
        Case("a text key before an integer", "a26161000100", .keyOrder, lenient: nil),
        Case("a text before a byte string", "a2616100416100", .keyOrder, lenient: nil),
        Case("the longer text first", "a262616100617a00", .keyOrder, lenient: nil),
        Case("the longer integer first", "a21818001700", .keyOrder, lenient: nil),
        Case("texts of one length out of order", "a2616200616100", .keyOrder, lenient: nil),
        Case("keys out of order in a nested map", "a101a202000100", .keyOrder, lenient: nil),
        Case("a key twice", "a201000100", both: .duplicateKey),
        Case("a text key twice", "a2616100616101", both: .duplicateKey),
        Case("a key twice with another between", "a3010002000100", .keyOrder, lenient: .duplicateKey),
        Case("a key twice, once wider", "a20100180100", .notShortest, lenient: .duplicateKey),
        Case("a key twice, in two longer forms", "a219000100180100", .notShortest, lenient: .duplicateKey),
        Case("a text key twice, once with a wider length", "a261610078016100", .notShortest, lenient: .duplicateKey),
        Case(
            "a map as key twice, with different orders",
            "a2a20100020000a20200010000",
            .keyOrder,
            lenient: .duplicateKey
        ),
        Case("an indefinite byte string", "5f4100ff", both: .indefiniteLength),
        Case("an indefinite text", "7f6161ff", both: .indefiniteLength),
        Case("an indefinite array", "9f00ff", both: .indefiniteLength),
        Case("an indefinite map", "bf0000ff", both: .indefiniteLength),
        Case("a break alone", "ff", both: .indefiniteLength),
        Case("an indefinite integer", "1f", both: .indefiniteLength),
        Case("a tag", "c000", both: .unsupported),
        Case("a bignum", "c249010000000000000000", both: .unsupported),
        Case("a tag inside an array", "81c100", both: .unsupported),
        Case("simple value 16", "f0", both: .unsupported),
        Case("simple value in two bytes", "f8ff", both: .unsupported),
        Case("false in two bytes", "f814", both: .unsupported),
        Case("reserved information 28", "1c", both: .unsupported),
        Case("reserved information 29 of a text", "7d", both: .unsupported),
        Case("reserved information 30 of simple values", "fe", both: .unsupported),
        Case("UTF-8 cut inside a character", "61c3", .invalidUTF8, lenient: nil),
        Case("a continuation byte alone", "6180", .invalidUTF8, lenient: nil),
        Case("an overlong slash", "62c0af", .invalidUTF8, lenient: nil),
        Case("a surrogate", "63eda080", .invalidUTF8, lenient: nil),
        Case("beyond the last character", "64f4908080", .invalidUTF8, lenient: nil),
        Case("bad UTF-8 as a key", "a161ff00", both: .invalidUTF8),
        Case("a byte string of 2⁶⁴−1", "5bffffffffffffffff", both: .truncated),
        Case("a text of 2⁶³", "7b8000000000000000", both: .truncated),
        Case("an array of 2⁶⁴−1", "9bffffffffffffffff", both: .truncated),
        Case("a map of 2⁶⁴−1", "bbffffffffffffffff", both: .truncated),
        Case("a map of 2⁶³, whose double overflows", "bb8000000000000000", both: .truncated),
        Case("an array of 2³² with one element", "9b000000010000000000", both: .truncated),
    ]

    @Test("Each case is rejected with its own error", arguments: cases)
    func refused(_ one: Case) throws {
        let bytes = try #require(Hexadecimal.bytes(one.hex))
        #expect(throws: one.strict) { try CBORDecoder.decode(bytes, mode: .strict) }
        if let lenient = one.lenient {
            #expect(throws: lenient) { try CBORDecoder.decode(bytes, mode: .lenient) }
        } else {
            let value = try CBORDecoder.decode(bytes, mode: .lenient)
            #expect(CBOREncoder.encode(value) != bytes, "the encoder never writes what strict mode rejects")
            #expect(try CBORDecoder.decode(CBOREncoder.encode(value), mode: .strict) == value)
        }
    }

    @Test("Nesting is bounded", arguments: [CBORDecoder.Mode.strict, .lenient])
    func depth(mode: CBORDecoder.Mode) throws {
        for opening in [[UInt8(0x81)], [0xA1, 0x00]] {
            let limit = CBORLimits().depth
            let deepest = Array(repeatElement(opening, count: limit - 1).joined()) + [0x00]
            #expect(throws: Never.self) { try CBORDecoder.decode(deepest, mode: mode) }
            #expect(throws: CBORError.tooDeep) { try CBORDecoder.decode(opening + deepest, mode: mode) }
            let bomb = Array(repeatElement(opening, count: 100_000).joined())
            #expect(throws: CBORError.tooDeep) { try CBORDecoder.decode(bomb, mode: mode) }
            #expect(throws: CBORError.tooDeep) {
                try CBORDecoder.decode(opening + [0x00], mode: mode, limits: CBORLimits(depth: 1))
            }
        }
        let keys = Array(repeating: UInt8(0xA1), count: 20) + Array(repeating: 0x00, count: 21)
        #expect(throws: CBORError.tooDeep) { try CBORDecoder.decode(keys, mode: mode) }
    }

    @Test("The number of items is bounded", arguments: [CBORDecoder.Mode.strict, .lenient])
    func items(mode: CBORDecoder.Mode) throws {
        func array(_ count: Int) -> [UInt8] {
            NonCanonicalEncoder.head(4, UInt64(count), width: 2) + Array(repeating: 0xF6, count: count)
        }
        let limit = CBORLimits().items
        #expect(try CBORDecoder.decode(array(limit - 1), mode: mode).array?.count == limit - 1)
        #expect(throws: CBORError.tooLarge) { try CBORDecoder.decode(array(limit), mode: mode) }
    }

    @Test("The length of the input is bounded", arguments: [CBORDecoder.Mode.strict, .lenient])
    func bytes(mode: CBORDecoder.Mode) throws {
        func string(total: Int) -> [UInt8] {
            NonCanonicalEncoder.head(2, UInt64(total - 5), width: 4) + Array(repeating: 7, count: total - 5)
        }
        let limit = CBORLimits().bytes
        #expect(try CBORDecoder.decode(string(total: limit), mode: mode).bytes?.count == limit - 5)
        #expect(throws: CBORError.tooLarge) { try CBORDecoder.decode(string(total: limit + 1), mode: mode) }
    }
}
