// SPDX-License-Identifier: Apache-2.0

/// The first bytes of a client's WebSocket frame (RFC 6455 §5.2): 6, 8 or 14 of them, the mask included.
public struct FrameHeader: Hashable, Sendable {
    /// The kinds of frames that a tunnel may see.
    public enum Opcode: UInt8, Sendable {
        /// A further piece of a message.
        case continuation = 0x0
        /// A message, or its first piece.
        case binary = 0x2
        /// The end of the conversation.
        case close = 0x8
        /// A question whether somebody is there.
        case ping = 0x9
        /// The answer to it.
        case pong = 0xA

        /// Whether the frame speaks about the connection and not within the tunnel.
        public var isControl: Bool { rawValue >= 0x8 }
    }

    /// Longest header that a parser needs to see, in bytes.
    public static let maximumLength = 14

    /// The opcode of text messages, which tunnels do not carry.
    private static let textOpcode: UInt8 = 0x1

    /// Whether this frame is the last of its message.
    public let isFinal: Bool
    /// What the frame is.
    public let opcode: Opcode
    /// Length of the payload, in bytes.
    public let payloadLength: Int
    /// The four bytes of the mask, in the order of the wire when stored to memory.
    public let mask: UInt32
    /// Length of this header, in bytes.
    public let length: Int

    /// Reads the header at the start of `bytes`; `nil` if it is not complete yet.
    ///
    /// A violation is thrown as soon as the bytes that show it are there. Never traps, whatever the bytes.
    public init?(parsing bytes: UnsafeRawBufferPointer) throws(FrameViolation) {
        guard let first = bytes.first else { return nil }
        guard first & 0x70 == 0 else { throw .reservedBits }
        let isFinal = first & 0x80 != 0
        let opcodeBits = first & 0x0F
        guard opcodeBits == Self.textOpcode || Opcode(rawValue: opcodeBits) != nil else { throw .unknownOpcode }
        guard bytes.count >= 2 else { return nil }
        let second = bytes[1]
        guard second & 0x80 != 0 else { throw .unmasked }
        guard let opcode = Opcode(rawValue: opcodeBits) else { throw .text }
        let short = Int(second & 0x7F)
        if opcode.isControl {
            guard isFinal else { throw .fragmentedControl }
            guard short <= 125 else { throw .oversizedControl }
        }
        guard let payload = try Self.payloadLength(short: short, in: bytes) else { return nil }
        let maskOffset = 2 + Self.extraLengthBytes(short: short)
        guard bytes.count >= maskOffset + 4 else { return nil }
        self.isFinal = isFinal
        self.opcode = opcode
        self.payloadLength = payload
        self.mask = bytes.loadUnaligned(fromByteOffset: maskOffset, as: UInt32.self)
        self.length = maskOffset + 4
    }

    private static func extraLengthBytes(short: Int) -> Int {
        switch short {
        case 126: 2
        case 127: 8
        default: 0
        }
    }

    private static func payloadLength(short: Int, in bytes: UnsafeRawBufferPointer) throws(FrameViolation) -> Int? {
        switch short {
        case 126:
            guard bytes.count >= 4 else { return nil }
            let length = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            guard length >= 126 else { throw .malformedLength }
            return Int(length)
        case 127:
            guard bytes.count >= 10 else { return nil }
            let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            guard length > UInt64(UInt16.max), let payload = Int(exactly: length) else { throw .malformedLength }
            return payload
        default:
            return short
        }
    }
}
