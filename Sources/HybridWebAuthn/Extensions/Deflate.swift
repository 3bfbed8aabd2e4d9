// SPDX-License-Identifier: Apache-2.0

/// The DEFLATE format (RFC 1951), in which phones are sent a website's data and give it back.
///
/// What is written here is stored and not compressed, which every reader takes: blobs are short, and the way is free.
/// What is read may have every kind of block. The size that is expected bounds it, and the work too: a block may be empty
/// and still cost the making of its codes, so there may be only so many blocks.
enum Deflate {
    /// The longest blob that is inflated, in bytes: a message of the tunnel is no longer.
    static let maximumBytes = 1 << 20
    /// The longest stored block, in bytes (§3.2.4).
    private static let longestBlock = 0xFFFF

    /// Stored blocks with these bytes.
    static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(longestBlock)
            rest = rest.dropFirst(block.count)
            let length = UInt16(block.count)
            output += [rest.isEmpty ? 1 : 0]
            for number in [length, ~length] { output += [UInt8(number & 0xFF), UInt8(number >> 8)] }
            output += block
        } while !rest.isEmpty
        return output
    }

    /// How many blocks a stream may have: the smallest that zlib writes by itself hold 128 symbols.
    static func mostBlocks(for size: Int) -> Int { 64 + size / 64 }

    /// The bytes; `nil` if the input is not DEFLATE to its end, gives another number of bytes than expected, or has more
    /// blocks than writers make of so many bytes.
    static func inflate(_ bytes: [UInt8], size: Int) -> [UInt8]? {
        guard (0...maximumBytes).contains(size) else { return nil }
        var inflater = Inflater(input: bytes, size: size)
        return try? inflater.run()
    }
}

/// Reads blocks; nothing of it leaves this file.
private struct Inflater {
    private struct Malformed: Error {}

    private let input: [UInt8]
    private let size: Int
    private var position = 0
    private var bits: UInt32 = 0
    private var bitCount = 0
    private var output: [UInt8] = []

    init(input: [UInt8], size: Int) {
        self.input = input
        self.size = size
    }

    mutating func run() throws -> [UInt8] {
        var isLast = false
        var blocks = 0
        while !isLast {
            blocks += 1
            guard blocks <= Deflate.mostBlocks(for: size) else { throw Malformed() }
            isLast = try take(1) == 1
            switch try take(2) {
            case 0: try stored()
            case 1: try compressed(literals: Self.fixedLiterals, distances: Self.fixedDistances)
            case 2:
                let (literals, distances) = try dynamicCodes()
                try compressed(literals: literals, distances: distances)
            default: throw Malformed()
            }
        }
        guard position == input.count, output.count == size else { throw Malformed() }
        return output
    }

    private mutating func take(_ count: Int) throws -> Int {
        while bitCount < count {
            guard position < input.count else { throw Malformed() }
            bits |= UInt32(input[position]) << UInt32(bitCount)
            position += 1
            bitCount += 8
        }
        defer {
            bits >>= UInt32(count)
            bitCount -= count
        }
        return Int(bits & ((1 << UInt32(count)) - 1))
    }

    private mutating func append(_ byte: UInt8) throws {
        guard output.count < size else { throw Malformed() }
        output.append(byte)
    }

    /// §3.2.4: begins at a whole byte; fewer than eight bits are ever kept, so they belong to the byte that is left.
    private mutating func stored() throws {
        (bits, bitCount) = (0, 0)
        guard input.count - position >= 4 else { throw Malformed() }
        let length = Int(input[position]) | Int(input[position + 1]) << 8
        let complement = Int(input[position + 2]) | Int(input[position + 3]) << 8
        position += 4
        guard length ^ complement == 0xFFFF, input.count - position >= length, output.count + length <= size else {
            throw Malformed()
        }
        output += input[position..<position + length]
        position += length
    }

    /// §3.2.3: literals, and copies of what stands before.
    private mutating func compressed(literals: HuffmanCode, distances: HuffmanCode) throws {
        while true {
            let symbol = try decode(literals)
            if symbol < 256 {
                try append(UInt8(symbol))
                continue
            }
            if symbol == 256 { return }
            guard symbol - 257 < Self.lengths.count else { throw Malformed() }
            let (base, extra) = Self.lengths[symbol - 257]
            let length = base + (try take(extra))
            let code = try decode(distances)
            guard code < Self.distances.count else { throw Malformed() }
            let distance = Self.distances[code].base + (try take(Self.distances[code].extra))
            guard distance <= output.count else { throw Malformed() }
            for _ in 0..<length { try append(output[output.count - distance]) }
        }
    }

    private mutating func decode(_ code: HuffmanCode) throws -> Int {
        var (value, first, index) = (0, 0, 0)
        for length in 1...HuffmanCode.longest {
            value |= try take(1)
            let count = code.counts[length]
            if value - count < first { return code.symbols[index + value - first] }
            index += count
            first = (first + count) << 1
            value <<= 1
        }
        throw Malformed()
    }

    /// §3.2.7: the codes themselves, written in a code of their own.
    private mutating func dynamicCodes() throws -> (literals: HuffmanCode, distances: HuffmanCode) {
        let literalCount = try take(5) + 257
        let distanceCount = try take(5) + 1
        let lengthCount = try take(4) + 4
        guard literalCount <= 286, distanceCount <= 30 else { throw Malformed() }
        var lengths = [Int](repeating: 0, count: 19)
        for index in Self.order.prefix(lengthCount) { lengths[index] = try take(3) }
        guard let code = HuffmanCode(lengths) else { throw Malformed() }
        var all: [Int] = []
        while all.count < literalCount + distanceCount {
            switch try decode(code) {
            case let length where length < 16: all.append(length)
            case 16:
                guard let previous = all.last else { throw Malformed() }
                all += [Int](repeating: previous, count: 3 + (try take(2)))
            case 17: all += [Int](repeating: 0, count: 3 + (try take(3)))
            default: all += [Int](repeating: 0, count: 11 + (try take(7)))
            }
        }
        guard all.count == literalCount + distanceCount, all[256] > 0,
            let literals = HuffmanCode(all.prefix(literalCount)), let distances = HuffmanCode(all.suffix(distanceCount))
        else { throw Malformed() }
        return (literals, distances)
    }

    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    /// §3.2.5: bases and extra bits of the symbols 257 to 285.
    private static let lengths: [(base: Int, extra: Int)] = [
        (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0), (11, 1), (13, 1), (15, 1), (17, 1), (19, 2),
        (23, 2), (27, 2), (31, 2), (35, 3), (43, 3), (51, 3), (59, 3), (67, 4), (83, 4), (99, 4), (115, 4), (131, 5),
        (163, 5), (195, 5), (227, 5), (258, 0),
    ]
    /// §3.2.5: bases and extra bits of the distance codes 0 to 29.
    private static let distances: [(base: Int, extra: Int)] = (0..<30).map { code in
        guard code >= 4 else { return (code + 1, 0) }
        let extra = code / 2 - 1
        return (((2 + code % 2) << extra) + 1, extra)
    }

    /// §3.2.6.
    private static let fixedLiterals = HuffmanCode(
        fixed: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 }
    )
    private static let fixedDistances = HuffmanCode(fixed: [Int](repeating: 5, count: 30))
}

/// A canonical Huffman code, by how many symbols there are of each length (§3.2.2).
private struct HuffmanCode {
    static let longest = 15

    let counts: [Int]
    let symbols: [Int]

    /// `nil` if more symbols have a length than there are words of that length.
    init?(_ lengths: some Collection<Int>) {
        self.init(fixed: lengths)
        var left = 1
        for count in counts.dropFirst() {
            left = 2 * left - count
            guard left >= 0 else { return nil }
        }
    }

    init(fixed lengths: some Collection<Int>) {
        var counts = [Int](repeating: 0, count: Self.longest + 1)
        for length in lengths where length > 0 { counts[length] += 1 }
        self.counts = counts
        // By length, then by number, in one pass.
        var next = counts.indices.map { counts[..<$0].reduce(0, +) }
        var symbols = [Int](repeating: 0, count: counts.reduce(0, +))
        for (symbol, length) in lengths.enumerated() where length > 0 {
            symbols[next[length]] = symbol
            next[length] += 1
        }
        self.symbols = symbols
    }
}
