// SPDX-License-Identifier: Apache-2.0

/// Frames of a server, which have no mask, so the header has 2, 4 or 10 bytes.
enum ServerFrame {
    /// Returns the length of the header of a frame with a payload of this length, in bytes.
    static func headerLength(payload: Int) -> Int {
        switch payload {
        case ...125: 2
        case ...0xFFFF: 4
        default: 10
        }
    }

    /// Writes the header of a frame to `target` at `offset`, where it has room.
    static func writeHeader(
        opcode: FrameHeader.Opcode,
        isFinal: Bool,
        payload: Int,
        to target: inout MutableRawSpan,
        at offset: Int
    ) {
        target.storeBytes(of: opcode.rawValue | (isFinal ? 0x80 : 0), toByteOffset: offset, as: UInt8.self)
        switch headerLength(payload: payload) {
        case 2:
            target.storeBytes(of: UInt8(truncatingIfNeeded: payload), toByteOffset: offset + 1, as: UInt8.self)
        case 4:
            target.storeBytes(of: 126, toByteOffset: offset + 1, as: UInt8.self)
            let length = UInt16(truncatingIfNeeded: payload).bigEndian
            target.storeBytes(of: length, toByteOffset: offset + 2, as: UInt16.self)
        default:
            target.storeBytes(of: 127, toByteOffset: offset + 1, as: UInt8.self)
            target.storeBytes(of: UInt64(payload).bigEndian, toByteOffset: offset + 2, as: UInt64.self)
        }
    }

    /// Returns a close frame with a code, or an empty one.
    static func close(_ code: CloseCode?) -> [UInt8] {
        guard let code else { return [0x88, 0] }
        return [0x88, 2, UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)]
    }

    /// Returns a binary message.
    static func binary(_ payload: [UInt8]) -> [UInt8] {
        var frame = [UInt8](repeating: 0, count: headerLength(payload: payload.count))
        var header = frame.mutableSpan
        var bytes = header.mutableBytes
        writeHeader(opcode: .binary, isFinal: true, payload: payload.count, to: &bytes, at: 0)
        return frame + payload
    }

    /// Returns the payload of a frame at `offset`, which must be complete, and true if it ends its message.
    static func payload(at offset: Int, in frames: RawSpan) -> (range: Range<Int>, isFinal: Bool) {
        var length = Int(frames.byte(at: offset + 1))
        let extra = length == 126 ? 2 : length == 127 ? 8 : 0
        if extra > 0 {
            length = ((offset + 2)..<(offset + 2 + extra)).reduce(0) { $0 << 8 | Int(frames.byte(at: $1)) }
        }
        let start = offset + 2 + extra
        return (start..<(start + length), frames.byte(at: offset) & 0x80 != 0)
    }

    /// A ping without payload.
    static let ping: [UInt8] = [0x89, 0]

    /// Returns the answer to a ping with a payload of at most 125 bytes.
    static func pong(_ payload: [UInt8]) -> [UInt8] { [0x8A, UInt8(truncatingIfNeeded: payload.count)] + payload }
}

/// The mask of a client's frames (RFC 6455 §5.3), applied 32 bytes at a time.
enum Mask {
    /// Unmasks `count` bytes at `source` and moves them to `target`, which is not after `source`.
    static func remove(
        _ mask: UInt32,
        from bytes: inout MutableRawSpan,
        at source: Int,
        count: Int,
        to target: Int
    ) {
        precondition(target >= 0 && target <= source && count >= 0 && count <= bytes.byteCount - source)
        // One check instead of one for each word.
        bytes.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            remove(mask, from: UnsafeRawPointer(start + source), count: count, to: start + target)
        }
    }

    private static func remove(
        _ mask: UInt32,
        from source: UnsafeRawPointer,
        count: Int,
        to target: UnsafeMutableRawPointer
    ) {
        let word = UInt64(mask) << 32 | UInt64(mask)
        let wide = SIMD4(repeating: word)
        var offset = 0
        while offset &+ 32 <= count {
            let words = source.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
            target.storeBytes(of: words ^ wide, toByteOffset: offset, as: SIMD4<UInt64>.self)
            offset &+= 32
        }
        while offset &+ 8 <= count {
            let masked = source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            target.storeBytes(of: masked ^ word, toByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        // The first byte of the mask on the wire is the lowest byte of a little-endian number.
        var rest = UInt32(littleEndian: mask)
        while offset < count {
            let byte = source.load(fromByteOffset: offset, as: UInt8.self) ^ UInt8(truncatingIfNeeded: rest)
            target.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
            rest = rest >> 8 | rest << 24
            offset &+= 1
        }
    }

    /// Returns the mask for the payload that follows the first `count` bytes.
    static func rotated(_ mask: UInt32, by count: Int) -> UInt32 {
        let bits = UInt32(count & 3) * 8
        guard bits > 0 else { return mask }
        let number = UInt32(littleEndian: mask)
        return (number >> bits | number << (32 - bits)).littleEndian
    }
}
