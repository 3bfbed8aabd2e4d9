// SPDX-License-Identifier: Apache-2.0

/// Base64url without padding (RFC 4648 §5), as WebAuthn's JSON writes bytes.
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The text of some bytes.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text = ""
        var (bits, count) = (0, 0)
        func append(_ index: Int) { text.unicodeScalars.append(Unicode.Scalar(alphabet[index & 0x3F])) }
        for byte in bytes {
            (bits, count) = ((bits << 8 | Int(byte)) & 0xFFFF, count + 8)
            while count >= 6 {
                count -= 6
                append(bits >> count)
            }
        }
        if count > 0 { append(bits << (6 - count)) }
        return text
    }

    /// The bytes of a text; `nil` for padding, other characters, an impossible length or stray bits at the end.
    public static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (bits, count) = (0, 0)
        for character in text.utf8 {
            guard let index = value(character) else { return nil }
            (bits, count) = ((bits << 6 | index) & 0xFFFF, count + 6)
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        guard count < 6, bits & ((1 << count) - 1) == 0 else { return nil }
        return bytes
    }

    private static func value(_ character: UInt8) -> Int? {
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
