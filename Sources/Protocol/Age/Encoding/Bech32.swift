// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Bech32 (BIP 173) without its limit of 90 characters, as age uses it for keys and identities.
///
/// Texts are ASCII in arrays, not strings, so that a secret key can be wiped.
package enum Bech32 {
    private static let digits = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let checksumLength = 6

    /// Returns the text in lower case.
    ///
    /// - Parameters:
    ///   - prefix: The part before the separator `1`, in lower case.
    ///   - data: The bytes.
    static func encode(prefix: String, _ data: [UInt8]) -> [UInt8] {
        let prefix = Array(prefix.utf8)
        var (values, bits, count): ([UInt8], Int, Int) = ([], 0, 0)
        // Enough capacity avoids a reallocation, which would leave a copy behind.
        values.reserveCapacity((data.count * 8 + 4) / 5 + checksumLength)
        defer { SecretBytes.wipe(&values) }
        for byte in data {
            (bits, count) = ((bits << 8 | Int(byte)) & 0xFFF, count + 8)
            while count >= 5 {
                count -= 5
                values.append(UInt8(bits >> count & 31))
            }
        }
        if count > 0 { values.append(UInt8(bits << (5 - count) & 31)) }
        let zeros = [UInt8](repeating: 0, count: checksumLength)
        let remainder = polynomial(prefix, values, zeros) ^ 1
        for position in 0..<checksumLength {
            values.append(UInt8(remainder >> UInt32(5 * (checksumLength - 1 - position)) & 31))
        }
        return prefix + [UInt8(ascii: "1")] + values.map { digits[Int($0)] }
    }

    /// Decodes a text in lower or upper case.
    ///
    /// - Returns: The prefix in lower case and the bytes; `nil` for mixed case, another checksum or nonzero unused bits.
    static func decode(_ text: some Collection<UInt8>) -> (prefix: String, data: [UInt8])? {
        var text = Array(text)
        defer { SecretBytes.wipe(&text) }
        guard !(text.contains(where: isUpper) && text.contains(where: isLower)) else { return nil }
        var lower = text.map { isUpper($0) ? $0 | 0x20 : $0 }
        defer { SecretBytes.wipe(&lower) }
        guard let separator = lower.lastIndex(of: UInt8(ascii: "1")), separator > 0,
            lower.count - separator > checksumLength,
            lower[..<separator].allSatisfy({ (33...126).contains($0) })
        else { return nil }
        var values: [UInt8] = []
        values.reserveCapacity(lower.count - separator)
        defer { SecretBytes.wipe(&values) }
        for digit in lower[(separator + 1)...] {
            guard let value = value(digit) else { return nil }
            values.append(value)
        }
        let prefix = Array(lower[..<separator])
        guard polynomial(prefix, values, []) == 1 else { return nil }
        var (data, bits, count): ([UInt8], Int, Int) = ([], 0, 0)
        data.reserveCapacity(values.count * 5 / 8)
        for value in values.dropLast(checksumLength) {
            (bits, count) = ((bits << 5 | Int(value)) & 0xFFF, count + 5)
            if count >= 8 {
                count -= 8
                data.append(UInt8(bits >> count & 0xFF))
            }
        }
        guard count < 5, bits & ((1 << count) - 1) == 0 else { return nil }
        return (String(decoding: prefix, as: UTF8.self), data)
    }

    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 32, count: 256)
        for (value, digit) in digits.enumerated() { table[Int(digit)] = UInt8(value) }
        return table
    }()

    private static func value(_ digit: UInt8) -> UInt8? {
        let value = values[Int(digit)]
        return value < 32 ? value : nil
    }

    private static func isUpper(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
    private static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    private static let generator: [UInt32] = [0x3B6A_57B2, 0x2650_8E6D, 0x1EA1_19FA, 0x3D42_33DD, 0x2A14_62B3]

    /// Returns the remainder of the polynomial over the prefix and the values.
    private static func polynomial(_ prefix: [UInt8], _ values: [UInt8], _ rest: [UInt8]) -> UInt32 {
        var remainder: UInt32 = 1
        func add(_ value: UInt8) {
            let top = remainder >> 25
            remainder = (remainder & 0x1FF_FFFF) << 5 ^ UInt32(value)
            for (bit, factor) in generator.enumerated() where top >> UInt32(bit) & 1 == 1 { remainder ^= factor }
        }
        for byte in prefix { add(byte >> 5) }
        add(0)
        for byte in prefix { add(byte & 31) }
        for value in values { add(value) }
        for value in rest { add(value) }
        return remainder
    }
}
