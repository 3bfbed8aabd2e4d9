// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Frames as a server writes them: without a mask, so the header has 2, 4 or 10 bytes.
enum ServerFrame {
    /// Longest header, in bytes.
    static let maximumHeaderLength = 10

    /// Writes a frame with the unmasked payload to `target`, which must have room, and returns its length in bytes.
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

    /// A close frame with a code, or an empty one.
    static func close(_ code: CloseCode?) -> ByteBuffer {
        guard let code else { return ByteBuffer(bytes: [0x88, 0]) }
        return ByteBuffer(bytes: [0x88, 2, UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)])
    }

    /// A ping without payload.
    static var ping: ByteBuffer { ByteBuffer(bytes: [0x89, 0]) }

    /// The answer to a ping, with its payload of at most 125 bytes.
    static func pong(_ payload: [UInt8]) -> ByteBuffer {
        ByteBuffer(bytes: [0x8A, UInt8(truncatingIfNeeded: payload.count)] + payload)
    }
}
