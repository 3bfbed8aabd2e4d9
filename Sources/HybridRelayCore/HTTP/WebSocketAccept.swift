// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import NIOCore

/// The answer to a WebSocket key: base64 of SHA-1 over the key and a fixed text (RFC 6455 §4.2.2).
///
/// It proves that the server speaks WebSocket and nothing else, so SHA-1's weakness does not matter here.
enum WebSocketAccept {
    private static let suffix = Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)

    /// Writes the value of `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key`: 28 characters.
    static func write(for key: [UInt8], to buffer: inout ByteBuffer) {
        var hash = Insecure.SHA1()
        hash.update(data: key)
        hash.update(data: suffix)
        _ = hash.finalize().withUnsafeBytes { digest in
            // Written out, as Foundation's base64 takes as long as the hash. 20 bytes are six groups of three, and two.
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 28) { text in
                for part in 0..<7 {
                    let start = 3 * part
                    let third = part < 6 ? UInt32(digest[start + 2]) : 0
                    let group = UInt32(digest[start]) << 16 | UInt32(digest[start + 1]) << 8 | third
                    text.storeBytes(of: characters(group).bigEndian, toByteOffset: 4 * part, as: UInt32.self)
                }
                text[27] = UInt8(ascii: "=")
                return 28
            }
        }
    }

    /// Four characters for three bytes, the first being the highest.
    private static func characters(_ group: UInt32) -> UInt32 {
        character(group >> 18) << 24 | character(group >> 12) << 16 | character(group >> 6) << 8 | character(group)
    }

    /// The character of the lowest six bits.
    private static func character(_ bits: UInt32) -> UInt32 {
        switch bits & 63 {
        case let number where number < 26: UInt32(UInt8(ascii: "A")) + number
        case let number where number < 52: UInt32(UInt8(ascii: "a")) + number - 26
        case let number where number < 62: UInt32(UInt8(ascii: "0")) + number - 52
        case 62: UInt32(UInt8(ascii: "+"))
        default: UInt32(UInt8(ascii: "/"))
        }
    }
}
