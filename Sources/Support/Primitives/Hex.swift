// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal digits (RFC 4648 §8).
public enum Hex {
    @usableFromInline static let digits = Array("0123456789abcdef".utf8)

    /// Returns two lower-case digits for each byte.
    @inlinable public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0x0F)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes exactly `2 × length` ASCII digits.
    ///
    /// - Parameters:
    ///   - text: ASCII digits.
    ///   - length: The number of bytes to return.
    ///   - lowercaseOnly: True to reject upper-case digits, so that each value has only one spelling, as in file names.
    /// - Returns: `length` bytes, or `nil` if the text is malformed.
    @inlinable public static func decode(
        _ text: some Collection<UInt8>,
        length: Int,
        lowercaseOnly: Bool = false
    ) -> [UInt8]? {
        guard text.count == 2 * length else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length)
        var high: UInt8?
        for character in text {
            guard let digit = value(of: character), !(lowercaseOnly && isUppercase(character)) else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return bytes
    }

    /// Decodes exactly `2 × length` digits of a string; see ``decode(_:length:lowercaseOnly:)``.
    @inlinable public static func decode(
        _ text: some StringProtocol,
        length: Int,
        lowercaseOnly: Bool = false
    ) -> [UInt8]? {
        decode(Array(text.utf8), length: length, lowercaseOnly: lowercaseOnly)
    }

    /// Returns the number that 1 to 16 ASCII digits of either case represent; `nil` for other text.
    @inlinable public static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard !digits.isEmpty, digits.count <= 16 else { return nil }
        var number: UInt64 = 0
        for character in digits {
            guard let digit = value(of: character) else { return nil }
            number = number << 4 | UInt64(digit)
        }
        return number
    }

    /// Returns the value of one ASCII digit of either case; `nil` for other characters.
    @inlinable public static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    @usableFromInline static func isUppercase(_ character: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(character)
    }
}
