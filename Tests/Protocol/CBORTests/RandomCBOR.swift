// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import TestSupport

/// A generator of random values, including maps with arbitrary keys.
enum RandomCBOR {
    static func value(depth: Int = 4, using random: inout SeededGenerator) -> CBORValue {
        switch random.number(0...(depth > 0 ? 11 : 9)) {
        case 0, 1: .unsigned(integer(using: &random))
        case 2: .negative(integer(using: &random))
        case 3: .bytes(random.bytes(length(using: &random)))
        case 4: .text(text(using: &random))
        case 5: .boolean(Bool.random(using: &random))
        case 6: .null
        case 7: .undefined
        case 8: .float(.half(UInt16.random(in: .min ... .max, using: &random)))
        case 9:
            Bool.random(using: &random)
                ? .float(.single(UInt32.random(in: .min ... .max, using: &random)))
                : .float(.double(random.next()))
        case 10:
            .array((0..<random.number(0...5)).map { _ in value(depth: depth - 1, using: &random) })
        default: .map(map(depth: depth, using: &random))
        }
    }

    static func map(depth: Int, using random: inout SeededGenerator) -> CBORMap {
        var map = CBORMap()
        for _ in 0..<random.number(0...6) {
            map[value(depth: min(1, depth - 1), using: &random)] = value(depth: depth - 1, using: &random)
        }
        return map
    }

    /// Returns a number with a random width, so that every form of a head occurs.
    static func integer(using random: inout SeededGenerator) -> UInt64 {
        let edges: [UInt64] = [0, 23, 24, 0xFF, 0x100, 0xFFFF, 0x1_0000, 0xFFFF_FFFF, 0x1_0000_0000, .max]
        if Bool.random(using: &random) { return edges[random.number(0...edges.count - 1)] }
        return random.next() >> UInt64(random.number(0...63))
    }

    private static func length(using random: inout SeededGenerator) -> Int {
        [0, 1, 23, 24, 40, 255, 256, 300][random.number(0...7)]
    }

    private static func text(using random: inout SeededGenerator) -> String {
        let letters = ["a", "Z", "0", " ", "é", "e\u{301}", "ß", "\u{212A}", "漢", "🔑", "\u{0}", "\u{202E}"]
        return (0..<random.number(0...12)).map { _ in letters[random.number(0...letters.count - 1)] }.joined()
    }
}

/// An encoder of non-canonical CBOR: longer heads and any key order.
struct NonCanonicalEncoder {
    private(set) var widened = false
    private(set) var reordered = false
    var widens: Bool
    var reorders: Bool

    init(widens: Bool, reorders: Bool) {
        self.widens = widens
        self.reorders = reorders
    }

    mutating func encode(_ value: CBORValue, using random: inout SeededGenerator) -> [UInt8] {
        switch value {
        case .unsigned(let number): return head(0, number, using: &random)
        case .negative(let number): return head(1, number, using: &random)
        case .bytes(let bytes): return head(2, UInt64(bytes.count), using: &random) + bytes
        case .text(let text): return head(3, UInt64(text.utf8.count), using: &random) + Array(text.utf8)
        case .array(let elements):
            var output = head(4, UInt64(elements.count), using: &random)
            for element in elements { output += encode(element, using: &random) }
            return output
        case .map(let map):
            var output = head(5, UInt64(map.count), using: &random)
            let canonical = map.entries.sorted { precedes(CBOREncoder.encode($0.key), CBOREncoder.encode($1.key)) }
            let entries = reorders ? canonical.shuffled(using: &random) : canonical
            if entries.map(\.key) != canonical.map(\.key) { reordered = true }
            for (key, value) in entries {
                output += encode(key, using: &random)
                output += encode(value, using: &random)
            }
            return output
        default: return CBOREncoder.encode(value)
        }
    }

    /// Appends a head in the shortest form, or sometimes in a longer one.
    private mutating func head(_ major: UInt8, _ number: UInt64, using random: inout SeededGenerator) -> [UInt8] {
        let least = number < 24 ? 0 : number < 0x100 ? 1 : number < 0x1_0000 ? 2 : number < 0x1_0000_0000 ? 4 : 8
        let wider = [1, 2, 4, 8].filter { $0 > least }
        guard widens, !wider.isEmpty, random.number(0...2) == 0 else { return Self.head(major, number, width: least) }
        widened = true
        return Self.head(major, number, width: wider[random.number(0...wider.count - 1)])
    }

    /// Appends a head whose number takes `width` bytes; zero puts it into the first byte.
    static func head(_ major: UInt8, _ number: UInt64, width: Int) -> [UInt8] {
        guard width > 0 else { return [major << 5 | UInt8(truncatingIfNeeded: number)] }
        let information: UInt8 = width == 1 ? 24 : width == 2 ? 25 : width == 4 ? 26 : 27
        return [major << 5 | information]
            + (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) }
    }

    /// The canonical order, implemented independently from the specification.
    private func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        let (majorLeft, majorRight) = (left[0] / 32, right[0] / 32)
        guard majorLeft == majorRight else { return majorLeft < majorRight }
        guard left.count == right.count else { return left.count < right.count }
        for (a, b) in zip(left, right) where a != b { return a < b }
        return false
    }
}
