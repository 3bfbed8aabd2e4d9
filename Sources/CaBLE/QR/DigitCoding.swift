// SPDX-License-Identifier: Apache-2.0

/// The encoding of bytes as decimal digits for the numeric mode of QR codes: 7 bytes become 17 digits.
///
/// Each chunk of up to 7 bytes is a little-endian number, written with a fixed number of digits.
enum DigitCoding {
    private static let chunkBytes = 7
    /// Number of digits of a chunk, indexed by its number of bytes.
    private static let width = [0, 3, 5, 8, 10, 13, 15, 17]

    static func encode(_ bytes: [UInt8]) -> String {
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: chunkBytes) {
            let chunk = bytes[start..<min(start + chunkBytes, bytes.count)]
            let value = chunk.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let digits = String(value)
            text += String(repeating: "0", count: width[chunk.count] - digits.utf8.count) + digits
        }
        return text
    }

    /// Returns the bytes; `nil` if a character is not an ASCII digit, a chunk is out of range, or the length is
    /// impossible.
    static func decode(_ digits: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = digits[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(width[chunkBytes])
            rest = rest.dropFirst(chunk.count)
            guard let length = width.firstIndex(of: chunk.count) else { return nil }
            var value: UInt64 = 0
            for character in chunk {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character) else { return nil }
                value = value * 10 + UInt64(character - UInt8(ascii: "0"))
            }
            guard value < 1 << UInt64(8 * length) else { return nil }
            bytes += value.littleEndianBytes.prefix(length)
        }
        return bytes
    }
}
