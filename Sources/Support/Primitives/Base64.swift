// SPDX-License-Identifier: Apache-2.0

/// Base64 (RFC 4648 §4): with padding as used in HTTP header fields, or without as in age files.
public enum Base64 {
    @usableFromInline static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    /// Returns the encoded `bytes` as ASCII in an array, not a `String`, so that an encoded secret can be wiped.
    @inlinable public static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        // Enough capacity avoids a reallocation, which would leave a copy behind.
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        SextetCoding.encode(bytes, alphabet) { text.append($0) }
        while !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
        return text
    }

    /// Returns the encoded `bytes` without padding as ASCII in an array, which its owner can wipe.
    package static func encodeUnpadded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        SextetCoding.encode(bytes, alphabet) { text.append($0) }
        return text
    }

    /// Decodes ASCII without padding.
    ///
    /// - Returns: The bytes, or `nil` for padding, other characters, an impossible length or nonzero unused bits.
    package static func decodeUnpadded(_ text: some Collection<UInt8>) -> [UInt8]? {
        SextetCoding.decode(text, maximumLength: .max) { character in
            switch character {
            case UInt8(ascii: "+"): 62
            case UInt8(ascii: "/"): 63
            case UInt8(ascii: "-"), UInt8(ascii: "_"): nil
            default: Base64URL.value(character)
            }
        }
    }
}

/// Base64url without padding (RFC 4648 §5), used for bytes in the JSON of WebAuthn and the Credential Exchange Format.
public enum Base64URL {
    @usableFromInline static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// Returns `bytes` in base64url.
    @inlinable public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the encoded `bytes` as ASCII to a buffer, which its owner can wipe.
    @inlinable public static func append(_ bytes: some Sequence<UInt8>, to text: inout [UInt8]) {
        SextetCoding.encode(bytes, alphabet) { text.append($0) }
    }

    /// Decodes text without padding.
    ///
    /// - Parameters:
    ///   - text: ASCII characters.
    ///   - maximumLength: The maximum number of bytes to return.
    /// - Returns: The bytes, or `nil` for padding, other characters, an impossible length, nonzero unused bits, or more
    ///   than `maximumLength` bytes.
    @inlinable public static func decode(_ text: some StringProtocol, maximumLength: Int = .max) -> [UInt8]? {
        SextetCoding.decode(text.utf8[...], maximumLength: maximumLength, value)
    }

    /// Decodes text without padding or with correct padding, as some exporters write it.
    ///
    /// - Parameters:
    ///   - text: ASCII characters.
    ///   - maximumLength: The maximum number of bytes to return.
    /// - Returns: The bytes, or `nil` if the text is malformed or has more than `maximumLength` bytes.
    @inlinable public static func decodePadded(_ text: String, maximumLength: Int) -> [UInt8]? {
        // One character more than allowed is enough to reject the text, so the rest of a huge text is never copied.
        var digits = Array(text.utf8.prefix((maximumLength + 2) / 3 * 4 + 1))[...]
        if digits.count.isMultiple(of: 4) {
            let padding = digits.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
            digits = digits.dropLast(padding)
        }
        return SextetCoding.decode(digits, maximumLength: maximumLength, value)
    }

    @usableFromInline static func value(_ character: UInt8) -> Int? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// The conversion between bytes and groups of six bits, for both alphabets.
@usableFromInline
enum SextetCoding {
    @inlinable static func encode(_ bytes: some Sequence<UInt8>, _ alphabet: [UInt8], _ emit: (UInt8) -> Void) {
        var (bits, count) = (0, 0)
        for byte in bytes {
            (bits, count) = ((bits << 8 | Int(byte)) & 0xFFFF, count + 8)
            while count >= 6 {
                count -= 6
                emit(alphabet[bits >> count & 0x3F])
            }
        }
        if count > 0 { emit(alphabet[bits << (6 - count) & 0x3F]) }
    }

    @inlinable static func decode(
        _ digits: some Collection<UInt8>,
        maximumLength: Int,
        _ value: (UInt8) -> Int?
    ) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(maximumLength, digits.count * 3 / 4))
        var (bits, count) = (0, 0)
        for digit in digits {
            guard let value = value(digit) else { return nil }
            (bits, count) = ((bits << 6 | value) & 0xFFFF, count + 6)
            if count >= 8 {
                guard bytes.count < maximumLength else { return nil }
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        guard count < 6, bits & ((1 << count) - 1) == 0 else { return nil }
        return bytes
    }
}
