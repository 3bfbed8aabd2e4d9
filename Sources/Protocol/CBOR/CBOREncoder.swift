// SPDX-License-Identifier: Apache-2.0

/// An encoder for CTAP2 canonical CBOR (CTAP 2.2 §8).
public enum CBOREncoder {
    /// Returns the canonical encoding of a value.
    public static func encode(_ value: CBORValue) -> [UInt8] {
        var output: [UInt8] = []
        append(value, to: &output)
        return output
    }

    /// Returns the canonical encoding of a map.
    public static func encode(_ map: CBORMap) -> [UInt8] { encode(.map(map)) }

    private static func append(_ value: CBORValue, to output: inout [UInt8]) {
        switch value {
        case .unsigned(let number): appendHead(major: 0, number, to: &output)
        case .negative(let number): appendHead(major: 1, number, to: &output)
        case .bytes(let bytes):
            appendHead(major: 2, UInt64(bytes.count), to: &output)
            output += bytes
        case .text(let text):
            appendHead(major: 3, UInt64(text.utf8.count), to: &output)
            output += text.utf8
        case .array(let elements):
            appendHead(major: 4, UInt64(elements.count), to: &output)
            for element in elements { append(element, to: &output) }
        case .map(let map):
            appendHead(major: 5, UInt64(map.count), to: &output)
            let entries = map.entries.map { (key: encode($0.key), value: $0.value) }
            for entry in entries.sorted(by: { CanonicalOrder.precedes($0.key, $1.key) }) {
                output += entry.key
                append(entry.value, to: &output)
            }
        case .boolean(let truth): output.append(truth ? 0xF5 : 0xF4)
        case .null: output.append(0xF6)
        case .undefined: output.append(0xF7)
        case .float(.half(let bits)): appendBits(0xF9, UInt64(bits), width: 2, to: &output)
        case .float(.single(let bits)): appendBits(0xFA, UInt64(bits), width: 4, to: &output)
        case .float(.double(let bits)): appendBits(0xFB, bits, width: 8, to: &output)
        }
    }

    private static func appendHead(major: UInt8, _ number: UInt64, to output: inout [UInt8]) {
        let top = major << 5
        switch number {
        case 0..<24: output.append(top | UInt8(number))
        case 24...0xFF: appendBits(top | 24, number, width: 1, to: &output)
        case 0x100...0xFFFF: appendBits(top | 25, number, width: 2, to: &output)
        case 0x1_0000...0xFFFF_FFFF: appendBits(top | 26, number, width: 4, to: &output)
        default: appendBits(top | 27, number, width: 8, to: &output)
        }
    }

    private static func appendBits(_ initial: UInt8, _ bits: UInt64, width: Int, to output: inout [UInt8]) {
        output.append(initial)
        for index in (0..<width).reversed() { output.append(UInt8(truncatingIfNeeded: bits >> UInt64(8 * index))) }
    }
}

/// The order of keys in a canonical map: by major type, then by length of the encoding, then by bytes.
enum CanonicalOrder {
    /// Returns true if the encoded key `left` precedes `right`.
    static func precedes(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        let majors = (left.first.map { $0 >> 5 } ?? 0, right.first.map { $0 >> 5 } ?? 0)
        if majors.0 != majors.1 { return majors.0 < majors.1 }
        if left.count != right.count { return left.count < right.count }
        return left.lexicographicallyPrecedes(right)
    }
}
