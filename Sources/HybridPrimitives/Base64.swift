// SPDX-License-Identifier: Apache-2.0

/// Base64 with padding (RFC 4648 §4), as HTTP header fields use it.
public enum Base64 {
    @usableFromInline static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    /// Returns the ASCII text of `bytes` as bytes, so that the text of a secret can be wiped.
    @inlinable public static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        // With room for all of it, the array never moves and leaves no copy behind.
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        SextetCoding.encode(bytes, alphabet) { text.append($0) }
        while !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
        return text
    }
}

/// Base64url without padding (RFC 4648 §5), as WebAuthn and the Credential Exchange Format write bytes in JSON.
public enum Base64URL {
    @usableFromInline static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// Returns the text of `bytes`.
    @inlinable public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the ASCII text of `bytes` to a buffer that its owner can wipe.
    @inlinable public static func append(_ bytes: some Sequence<UInt8>, to text: inout [UInt8]) {
        SextetCoding.encode(bytes, alphabet) { text.append($0) }
    }

    /// Reads a text without padding.
    ///
    /// - Parameters:
    ///   - text: ASCII characters.
    ///   - maximumLength: The most bytes that are returned.
    /// - Returns: The bytes, or `nil` for padding, other characters, an impossible length, stray bits at the end, or
    ///   more than `maximumLength` bytes.
    @inlinable public static func decode(_ text: some StringProtocol, maximumLength: Int = .max) -> [UInt8]? {
        SextetCoding.decode(text.utf8[...], maximumLength: maximumLength, value)
    }

    /// Reads a text without padding or with the right amount of it, as some exporters write it.
    ///
    /// - Parameters:
    ///   - text: ASCII characters.
    ///   - maximumLength: The most bytes that are returned.
    @inlinable public static func decodePadded(_ text: String, maximumLength: Int) -> [UInt8]? {
        // One digit more than allowed is enough to refuse the text; the rest of a huge one is never copied.
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

/// Groups of six bits, the part that both alphabets share.
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
