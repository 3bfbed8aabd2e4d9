// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Frames of a server, which have no mask, so the header has 2, 4 or 10 bytes.
enum ServerFrame {
    /// Maximum length of a header, in bytes.
    static let maximumHeaderLength = 10

    /// Writes a frame with the unmasked payload to `target`, which must be large enough.
    ///
    /// - Returns: The length of the frame in bytes.
    static func write(
        _ maskedPayload: UnsafeRawBufferPointer,
        opcode: FrameHeader.Opcode,
        isFinal: Bool,
        mask: UInt32,
        to target: UnsafeMutableRawBufferPointer
    ) -> Int {
        let count = maskedPayload.count
        let headerLength: Int
        target[0] = opcode.rawValue | (isFinal ? 0x80 : 0)
        switch count {
        case ...125:
            target[1] = UInt8(truncatingIfNeeded: count)
            headerLength = 2
        case ...0xFFFF:
            target[1] = 126
            target.storeBytes(of: UInt16(truncatingIfNeeded: count).bigEndian, toByteOffset: 2, as: UInt16.self)
            headerLength = 4
        default:
            target[1] = 127
            target.storeBytes(of: UInt64(count).bigEndian, toByteOffset: 2, as: UInt64.self)
            headerLength = 10
        }
        Mask.copy(maskedPayload, to: UnsafeMutableRawBufferPointer(rebasing: target[headerLength...]), mask: mask)
        return headerLength + count
    }

    /// Returns a close frame with a code, or an empty one.
    static func close(_ code: CloseCode?) -> ByteBuffer {
        guard let code else { return ByteBuffer(bytes: [0x88, 0]) }
        return ByteBuffer(bytes: [0x88, 2, UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)])
    }

    /// A ping without payload.
    static var ping: ByteBuffer { ByteBuffer(bytes: [0x89, 0]) }

    /// Returns the answer to a ping with a payload of at most 125 bytes.
    static func pong(_ payload: [UInt8]) -> ByteBuffer {
        ByteBuffer(bytes: [0x8A, UInt8(truncatingIfNeeded: payload.count)] + payload)
    }
}

/// The mask of a client's frames (RFC 6455 §5.3), applied eight bytes at a time.
enum Mask {
    /// Copies `source` to the start of `target`, which must be at least as long, and unmasks it.
    static func copy(_ source: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer, mask: UInt32) {
        let wide = UInt64(mask) << 32 | UInt64(mask)
        let count = source.count
        var offset = 0
        while offset &+ 8 <= count {
            let word = source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            target.storeBytes(of: word ^ wide, toByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        withUnsafeBytes(of: mask) { mask in
            while offset < count {
                target[offset] = source[offset] ^ mask[offset & 3]
                offset &+= 1
            }
        }
    }

    /// Returns the mask for the payload that follows the first `count` bytes.
    static func rotated(_ mask: UInt32, by count: Int) -> UInt32 {
        let bits = UInt32(count & 3) * 8
        guard bits > 0 else { return mask }
        // The first byte of the mask on the wire is the lowest byte of a little-endian number.
        let number = UInt32(littleEndian: mask)
        return (number >> bits | number << (32 - bits)).littleEndian
    }
}
