// SPDX-License-Identifier: Apache-2.0

/// Big-endian numbers, as every file of a vault has them.
extension [UInt8] {
    /// Appends a number, most significant byte first.
    mutating func append(bigEndian number: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

/// Takes fixed fields from the front of a file; the length was checked before, and is checked again.
struct FieldReader {
    /// What has not been taken.
    private(set) var rest: ArraySlice<UInt8>

    /// Starts at the front.
    init(_ bytes: some Collection<UInt8>) { self.rest = Array(bytes)[...] }

    /// The next `count` bytes, or `nil` if there are fewer.
    mutating func take(_ count: Int) -> [UInt8]? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// The next number, most significant byte first.
    mutating func take<Number: FixedWidthInteger & UnsignedInteger>(_ type: Number.Type) -> Number? {
        take(Number.bitWidth / 8)?.reduce(0) { $0 << 8 | Number($1) }
    }

    /// Whether the next bytes are these, which are taken then.
    mutating func take(exactly expected: [UInt8]) -> Bool { take(expected.count) == expected }
}
