// SPDX-License-Identifier: Apache-2.0

/// The header of a client's WebSocket frame (RFC 6455 §5.2): 6, 8 or 14 bytes, including the mask.
public struct FrameHeader: Hashable, Sendable {
    /// Opcodes that are valid in a tunnel.
    public enum Opcode: UInt8, Sendable {
        /// A later fragment of a message.
        case continuation = 0x0
        /// A message, or its first fragment.
        case binary = 0x2
        /// A close frame.
        case close = 0x8
        /// A ping.
        case ping = 0x9
        /// A pong.
        case pong = 0xA

        /// True for control frames, which concern the connection and carry no data of the tunnel.
        public var isControl: Bool { rawValue >= 0x8 }
    }

    /// Maximum length of a header in bytes.
    public static let maximumLength = 14

    /// Opcode of text messages, which tunnels do not carry.
    private static let textOpcode: UInt8 = 0x1

    /// True if the frame is the last of its message.
    public let isFinal: Bool
    /// Opcode of the frame.
    public let opcode: Opcode
    /// Length of the payload, in bytes.
    public let payloadLength: Int
    /// The four bytes of the mask, in wire order when stored to memory.
    public let mask: UInt32
    /// Length of this header, in bytes.
    public let length: Int

    /// Parses the header at an offset; `nil` if it is incomplete.
    ///
    /// A violation is thrown as soon as the bytes that reveal it have arrived. No input causes a trap.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - offset: The offset of the header, at most the number of bytes.
    public init?(parsing bytes: RawSpan, at offset: Int = 0) throws(FrameViolation) {
        let available = bytes.byteCount - offset
        guard available >= 1 else { return nil }
        let first = bytes.byte(at: offset)
        guard first & 0x70 == 0 else { throw .reservedBits }
        let isFinal = first & 0x80 != 0
        let opcodeBits = first & 0x0F
        guard opcodeBits == Self.textOpcode || Opcode(rawValue: opcodeBits) != nil else { throw .unknownOpcode }
        guard available >= 2 else { return nil }
        let second = bytes.byte(at: offset + 1)
        guard second & 0x80 != 0 else { throw .unmasked }
        guard let opcode = Opcode(rawValue: opcodeBits) else { throw .text }
        let short = Int(second & 0x7F)
        if opcode.isControl {
            guard isFinal else { throw .fragmentedControl }
            guard short <= 125 else { throw .oversizedControl }
        }
        guard let payload = try Self.payloadLength(short: short, in: bytes, at: offset) else { return nil }
        let maskOffset = 2 + Self.extraLengthBytes(short: short)
        guard available >= maskOffset + 4 else { return nil }
        self.isFinal = isFinal
        self.opcode = opcode
        self.payloadLength = payload
        self.mask = bytes.unsafeLoadUnaligned(fromByteOffset: offset + maskOffset, as: UInt32.self)
        self.length = maskOffset + 4
    }

    private static func extraLengthBytes(short: Int) -> Int {
        switch short {
        case 126: 2
        case 127: 8
        default: 0
        }
    }

    private static func payloadLength(
        short: Int,
        in bytes: RawSpan,
        at offset: Int
    ) throws(FrameViolation) -> Int? {
        let available = bytes.byteCount - offset
        switch short {
        case 126:
            guard available >= 4 else { return nil }
            let length = UInt16(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset + 2, as: UInt16.self))
            guard length >= 126 else { throw .malformedLength }
            return Int(length)
        case 127:
            guard available >= 10 else { return nil }
            let length = UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset + 2, as: UInt64.self))
            guard length > UInt64(UInt16.max), let payload = Int(exactly: length) else { throw .malformedLength }
            return payload
        default:
            return short
        }
    }
}

/// A violation of RFC 6455 or of the rules for tunnels.
public struct FrameViolation: Error, Hashable, Sendable {
    private let name: String
    /// The close code for the end that violated the rule.
    public let closeCode: CloseCode

    private init(_ name: String, _ closeCode: CloseCode = .protocolError) {
        (self.name, self.closeCode) = (name, closeCode)
    }

    /// A reserved bit is set although no extension was negotiated (§5.2).
    public static let reservedBits = FrameViolation("reserved bits")
    /// The opcode is not defined (§5.2).
    public static let unknownOpcode = FrameViolation("unknown opcode")
    /// The payload is not masked, although a client must mask it (§5.1).
    public static let unmasked = FrameViolation("unmasked")
    /// A control frame is fragmented (§5.5).
    public static let fragmentedControl = FrameViolation("fragmented control frame")
    /// The payload of a control frame is longer than 125 bytes (§5.5).
    public static let oversizedControl = FrameViolation("oversized control frame")
    /// A length does not have its shortest form, or its highest bit is set (§5.2).
    public static let malformedLength = FrameViolation("malformed length")
    /// A continuation frame without a message to continue (§5.4).
    public static let strayContinuation = FrameViolation("stray continuation")
    /// A new message before the last one is complete (§5.4).
    public static let interruptedMessage = FrameViolation("interrupted message")
    /// A close frame with a payload of one byte, or with a code that must not be sent (§7.4).
    public static let malformedClose = FrameViolation("malformed close")
    /// The reason in a close frame is not UTF-8 (§8.1).
    public static let malformedReason = FrameViolation("malformed reason", .invalidData)
    /// A text message; tunnels carry only binary messages.
    public static let text = FrameViolation("text", .unsupportedData)
    /// The message is larger than the relay accepts.
    public static let oversizedMessage = FrameViolation("oversized message", .messageTooBig)
}
