// SPDX-License-Identifier: Apache-2.0

/// Base64url (RFC 4648 §5), as the Credential Exchange Format writes bytes.
public enum Base64URL {
    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The text of some bytes, without padding.
    public static func text(_ bytes: some Sequence<UInt8>) -> String {
        var writer = JSONWriter()
        writer.append(base64URL: bytes)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// The bytes of a text with right padding or none; `nil` for other characters, an impossible length, stray bits at
    /// the end, or more than `limit` bytes.
    static func bytes(_ text: String, atMost limit: Int) -> [UInt8]? {
        var digits = Array(text.utf8.prefix((limit + 2) / 3 * 4 + 1))[...]
        if digits.count.isMultiple(of: 4) {
            // Some exporters pad, as the RFC has it unless it is told otherwise.
            let padding = digits.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
            digits = digits.dropLast(padding)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var (bits, count) = (0, 0)
        for digit in digits {
            guard let value = value(digit) else { return nil }
            (bits, count) = ((bits << 6 | value) & 0xFFFF, count + 6)
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        guard count < 6, bits & ((1 << count) - 1) == 0, bytes.count <= limit else { return nil }
        return bytes
    }

    private static func value(_ digit: UInt8) -> Int? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
