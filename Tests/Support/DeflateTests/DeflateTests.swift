// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridDeflate

/// RFC 1951; the samples were written by zlib.
@Suite("DEFLATE")
struct DeflateTests {
    private static let lots =
        "na dethtnrehoet  toth ertoddrerr eoehai ahtrihdatrrdonthltrerosdh unsrsnioualuotrihsnlsirtth aunas edtuhrunn"
        + "lnrsrusttisldtellidrdsil dnesnartseouialo  stas hia hil nd oataaodoesraiiea hnrrnalhrddlesuduh    tsd eotosat"
        + "nreterahtnretor adinrnsttssssitatlnlislaheohnalheuhidtlihnanuohhuhndoruuuouo luoohsnleeuisiolrnsulnntotosonos"
        + "rresdnudtdt uluosa udntul s ltlaaaearsudarrsdnahhaeeuldthla ooeioihournih aelnsdrh hahahhesuareuuaaasrlthendh"
        + "hhsuutheooieuthsheutsnrhrholishhusholhihosa t sntdo todiutualddnaiasolt sadoal h n onntlnenhssle nhrihttuotti"
        + "ieuaiua di ahhrslntieula tiedtuitrotitsenh iraehlotaieao"

    static let samples: [(name: String, hex: String, text: String)] = [
        (
            "fixed Huffman codes", "4b54284f4d2ace2c49552f5648492c49d45148c414c94b51c8cd2f4a55c84fc3900500",
            "a website's data, a website's data, and more of a website's data"
        ),
        (
            "dynamic Huffman codes",
            "1d528b094431085bc5d504050ba2a071ffcbbb96d29f8d8969a9982350e3d10e1134427cd066e333e2eda14f34302f4c31635d88046f"
                + "7b2de46a67ebf5695e7f415bb96f4018bdd215375ccc5565cdce2df0360d9ef96c6c5f8a956fe960bdef69b6c8820fe329474a99"
                + "b442b5ad7d47df739ed74c69c698a5efd985b0618d84d1ab9f20f8e85f197a44edd514932fdb83222bc943c33b3e20bf78867cdc"
                + "d475c44559cfddf5b550597fbadcefedeb24d06515be545dbd33be566730c8317855ce0a97b2924855751db2d419c66984128935"
                + "8854e9f6d72ffaa61e4be6596b1312ca1e94a6e37744d849849745c4de71d9fd9cf3923ab626269a8ac87cb908229205640bd674"
                + "d5de811619d33fdd4edea8b5a6849434b56479c56eba54d045806e82b53e7dc74ff27d8198cd028f489b137d7d98c6a37115f246"
                + "3db2a1f4a77f",
            lots
        ),
        ("a stored block", "010600f9ff73746f726564", "stored"),
        ("several blocks", "cacf4b5500000000ffff2b29cf0700", "one two"),
        ("nothing", "0300", ""),
        ("one byte a thousand times", "63601805a360140c770000", String(repeating: "\0", count: 1000)),
    ]

    @Test("other encoders' streams are inflated", arguments: samples)
    func inflates(sample: (name: String, hex: String, text: String)) throws {
        let bytes = try #require(Hexadecimal.bytes(sample.hex))
        let text = Array(sample.text.utf8)
        #expect(Deflate.inflate(bytes, size: text.count) == text)
        #expect(Deflate.inflate(bytes, size: text.count + 1) == nil)
        #expect(Deflate.inflate(bytes + [0], size: text.count) == nil)
        if !text.isEmpty { #expect(Deflate.inflate(bytes, size: text.count - 1) == nil) }
    }

    @Test("truncated streams are rejected, and damaged ones never crash", arguments: samples)
    func damaged(sample: (name: String, hex: String, text: String)) throws {
        let bytes = try #require(Hexadecimal.bytes(sample.hex))
        let size = sample.text.utf8.count
        for length in bytes.indices { #expect(Deflate.inflate(Array(bytes[..<length]), size: size) == nil) }
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << bit
                let result = Deflate.inflate(damaged, size: size)
                #expect(result == nil || result?.count == size)
            }
        }
    }

    @Test("stored data survives the round trip, also in several blocks", arguments: [0, 1, 65535, 65536, 200_000])
    func stored(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let stored = Deflate.stored(bytes)
        #expect(stored.count == count + 5 * max(1, (count + 65534) / 65535))
        #expect(Deflate.inflate(stored, size: count) == bytes)
    }

    @Test("invalid streams are rejected")
    func impossible() throws {
        for hex in [
            // A block of the reserved type; a stored block with a wrong complement of its length.
            "07", "010600f8ff73746f726564",
            // A distance before the start of the output, and an invalid distance code.
            "4b0410" + "00", "4bfc3f" + "00",
            // An oversubscribed code; code lengths that begin with a repetition.
            "05e0ffffffffff0f", "05c0810000000000",
        ] {
            for size in [0, 1, 3, 4, 300] {
                #expect(Deflate.inflate(try #require(Hexadecimal.bytes(hex)), size: size) == nil, "\(hex)")
            }
        }
    }

    @Test("the number of blocks is limited", arguments: [0, 1, 5000])
    func emptyBlocks(size: Int) {
        // Empty stored blocks, followed by the expected output.
        let empty: [UInt8] = [0x00, 0x00, 0x00, 0xFF, 0xFF]
        func stream(_ count: Int) -> [UInt8] {
            Array([[UInt8]](repeating: empty, count: count).joined())
                + Deflate.stored([UInt8](repeating: 7, count: size))
        }
        let most = Deflate.maximumBlocks(for: size)
        #expect(Deflate.inflate(stream(most - 1), size: size)?.count == size)
        #expect(Deflate.inflate(stream(most), size: size) == nil)
        #expect(Deflate.inflate(stream(200_000), size: size) == nil)
    }

    @Test("empty blocks with dynamic codes count, too")
    func emptyDynamicBlocks() throws {
        var bits = BitWriter()
        func block(isLast: Bool) {
            // §3.2.7: 257 literals, 1 distance, 18 lengths in the order 16 17 18 0 8 7 9 6 10 5 11 4 12 3 13 2 14 1.
            bits.put(isLast ? 1 : 0, 1)
            bits.put(2, 2)
            bits.put(0, 5)
            bits.put(0, 5)
            bits.put(14, 4)
            // Symbols 18 and 1 have codes of one bit: 1 is 0, 18 is 1.
            for index in 0..<18 { bits.put(index == 2 || index == 17 ? 1 : 0, 3) }
            // 256 zero lengths, then two codes of one bit: end of block and distance 1.
            for (symbol, extra) in [(1, 127), (1, 107)] {
                bits.put(symbol, 1)
                bits.put(extra, 7)
            }
            bits.put(0, 1)
            bits.put(0, 1)
            // End of block.
            bits.put(0, 1)
        }
        let most = Deflate.maximumBlocks(for: 0)
        for _ in 1..<most { block(isLast: false) }
        block(isLast: true)
        #expect(Deflate.inflate(bits.bytes, size: 0) == [])
        bits = BitWriter()
        for _ in 0..<most { block(isLast: false) }
        block(isLast: true)
        #expect(Deflate.inflate(bits.bytes, size: 0) == nil)
    }

    /// A writer of bits in DEFLATE's order: lowest first (§3.1.1).
    private struct BitWriter {
        var bytes: [UInt8] = []
        private var count = 0

        mutating func put(_ value: Int, _ width: Int) {
            for bit in 0..<width {
                if count % 8 == 0 { bytes.append(0) }
                if value >> bit & 1 == 1 { bytes[bytes.count - 1] |= 1 << UInt8(count % 8) }
                count += 1
            }
        }
    }

    @Test("sizes beyond a message are rejected")
    func bomb() {
        #expect(Deflate.inflate([0x03, 0x00], size: Deflate.maximumBytes + 1) == nil)
        #expect(Deflate.inflate([0x03, 0x00], size: -1) == nil)
    }
}
