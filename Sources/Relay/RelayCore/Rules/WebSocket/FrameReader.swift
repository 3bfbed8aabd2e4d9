// SPDX-License-Identifier: Apache-2.0

/// An event in the bytes that one end sends.
public enum FrameEvent: Hashable, Sendable {
    /// Frames for the other end, unmasked, with a server's headers, in this range of the same bytes.
    ///
    /// `cost` is the number of bytes that they count against the tunnel's limit.
    case data(Range<Int>, cost: Int)
    /// A ping, to be answered with its payload of at most 125 bytes, which is in this range of the same bytes.
    case ping(Range<Int>)
    /// A pong.
    case pong
    /// A close frame, with a code or (`nil`) without one.
    case close(CloseCode?)

    /// Minimum cost of a frame, in bytes.
    public static let minimumCost = 16

    /// Number of bytes that the event counts against the tunnel's limit.
    public var cost: Int {
        switch self {
        case .data(_, let cost): cost
        case .ping(let payload): max(payload.count, Self.minimumCost)
        case .pong, .close: Self.minimumCost
        }
    }
}

/// A reader that validates the bytes that one end sends and converts them to frames for the other end, in place.
///
/// The boundaries and order of messages and fragments are preserved. The only exception is a frame of more than 64 KiB, or
/// of more than the caller wants to buffer. As RFC 6455 §5.4 permits, it is forwarded in fragments as it arrives. So a relay
/// never buffers much more than 64 KiB of a frame, and can send a close frame between the fragments.
public struct FrameReader: Sendable {
    /// Maximum length of a payload that is buffered until its frame is complete, in bytes.
    public static let bufferedPayload = 64 << 10
    /// Number of bytes before the first position that the reader may overwrite.
    public static let headroom = 16

    /// A frame that is too large to be buffered and is being forwarded in fragments.
    private struct LargeFrame: Sendable {
        var opcode: FrameHeader.Opcode
        let isFinal: Bool
        /// The mask, rotated so that its first byte applies to the next byte of payload.
        var mask: UInt32
        var remaining: Int
    }

    private var fragmentation: FragmentationState
    private var large: LargeFrame?

    /// Number of bytes that must follow the position after ``next(in:from:buffering:)`` has returned `nil`.
    ///
    /// With fewer bytes, it would return `nil` again. A caller can collect that many before it calls again.
    public private(set) var neededBytes = 1

    /// Creates a reader for messages of up to `maximumMessage` bytes.
    public init(maximumMessage: Int) {
        fragmentation = FragmentationState(maximumMessage: maximumMessage)
    }

    /// Returns the next event and moves `position` to the byte after it; `nil` if more bytes are needed.
    ///
    /// After a violation or a close frame, the function must not be called again.
    ///
    /// - Parameters:
    ///   - bytes: The bytes from the end. The reader changes those before the new position.
    ///   - position: The offset of the first byte that has not been read, at least ``headroom`` on the first call with
    ///     these bytes. If the result is `nil`, the bytes from there on must be kept and passed again.
    ///   - limit: Maximum length of a payload that is buffered until its frame is complete, in bytes, at least 1.
    /// - Throws: The first violation, after the events of all valid frames before it.
    public mutating func next(
        in bytes: inout MutableRawSpan,
        from position: inout Int,
        buffering limit: Int = bufferedPayload
    ) throws(FrameViolation) -> FrameEvent? {
        // Most reads end with a message.
        guard position < bytes.byteCount else { return wait(for: 1) }
        if large != nil { return takePiece(&bytes, &position, limit) }
        if let data = try takeWholeFrames(&bytes, &position) { return data }
        guard let header = try FrameHeader(parsing: bytes.bytes, at: position) else {
            return wait(for: bytes.byteCount - position + 1)
        }
        if header.opcode.isControl { return try takeControl(header, &bytes, &position) }
        // Every violation is visible in the header, so the reader never waits for the payload of an invalid frame.
        var next = fragmentation
        try next.accept(header)
        guard header.payloadLength > limit else { return wait(for: header.length + header.payloadLength) }
        fragmentation = next
        large = LargeFrame(
            opcode: header.opcode,
            isFinal: header.isFinal,
            mask: header.mask,
            remaining: header.payloadLength
        )
        position += header.length
        return takePiece(&bytes, &position, limit)
    }

    private mutating func wait(for count: Int) -> FrameEvent? {
        neededBytes = count
        return nil
    }

    private mutating func takeControl(
        _ header: FrameHeader,
        _ bytes: inout MutableRawSpan,
        _ position: inout Int
    ) throws(FrameViolation) -> FrameEvent? {
        let length = header.length + header.payloadLength
        guard bytes.byteCount - position >= length else { return wait(for: length) }
        let payload = (position + header.length)..<(position + length)
        Mask.remove(
            header.mask,
            from: &bytes,
            at: payload.lowerBound,
            count: payload.count,
            to: payload.lowerBound
        )
        position = payload.upperBound
        switch header.opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong
        default: return .close(try Self.closeCode(bytes.bytes.extracting(payload)))
        }
    }

    private static func closeCode(_ payload: RawSpan) throws(FrameViolation) -> CloseCode? {
        guard payload.byteCount > 0 else { return nil }
        guard payload.byteCount >= 2,
            let code = CloseCode(rawValue: UInt16(payload.byte(at: 0)) << 8 | UInt16(payload.byte(at: 1)))
        else { throw .malformedClose }
        let reason = Array(copying: payload.extracting(2..<payload.byteCount))
        guard String(validating: reason, as: UTF8.self) != nil else { throw .malformedReason }
        return code
    }

    /// Returns the available part of a large frame, once it is large enough for a fragment.
    private mutating func takePiece(
        _ bytes: inout MutableRawSpan,
        _ position: inout Int,
        _ limit: Int
    ) -> FrameEvent? {
        guard var frame = large else { return nil }
        let count = min(bytes.byteCount - position, frame.remaining)
        let isLast = count == frame.remaining
        guard isLast || count >= limit else { return wait(for: min(frame.remaining, limit)) }
        Mask.remove(frame.mask, from: &bytes, at: position, count: count, to: position)
        let start = position - ServerFrame.headerLength(payload: count)
        ServerFrame.writeHeader(
            opcode: frame.opcode,
            isFinal: isLast && frame.isFinal,
            payload: count,
            to: &bytes,
            at: start
        )
        position += count
        frame.opcode = .continuation
        frame.mask = Mask.rotated(frame.mask, by: count)
        frame.remaining -= count
        large = isLast ? nil : frame
        return .data(start..<position, cost: max(count, FrameEvent.minimumCost))
    }

    /// Unmasks all complete data frames at the front and moves them together, so that one write sends them.
    ///
    /// Stops at a control frame, an incomplete frame, or a violation after valid frames.
    private mutating func takeWholeFrames(
        _ bytes: inout MutableRawSpan,
        _ position: inout Int
    ) throws(FrameViolation) -> FrameEvent? {
        let start = position
        var end = start
        var cost = 0
        while bytes.byteCount - position >= 6 {
            do throws(FrameViolation) {
                guard let header = try FrameHeader(parsing: bytes.bytes, at: position), !header.opcode.isControl,
                    header.payloadLength <= bytes.byteCount - position - header.length
                else { break }
                try fragmentation.accept(header)
                // A server's header is four bytes shorter than a client's, so nothing unread is overwritten.
                let payload = end + ServerFrame.headerLength(payload: header.payloadLength)
                Mask.remove(
                    header.mask,
                    from: &bytes,
                    at: position + header.length,
                    count: header.payloadLength,
                    to: payload
                )
                ServerFrame.writeHeader(
                    opcode: header.opcode,
                    isFinal: header.isFinal,
                    payload: header.payloadLength,
                    to: &bytes,
                    at: end
                )
                end = payload + header.payloadLength
                position += header.length + header.payloadLength
                cost += max(header.payloadLength, FrameEvent.minimumCost)
            } catch {
                // The next call finds the same violation again, because it does not change the state.
                guard end > start else { throw error }
                break
            }
        }
        return end > start ? .data(start..<end, cost: cost) : nil
    }
}

/// Sequence and total size of the frames of a message (RFC 6455 §5.4).
struct FragmentationState: Sendable {
    private let maximumMessage: Int
    private var messageBytes = 0
    private var isInsideMessage = false

    /// Creates the state for messages of up to `maximumMessage` bytes.
    init(maximumMessage: Int) {
        self.maximumMessage = maximumMessage
    }

    /// Accepts the next data frame; if this throws, the state does not change.
    mutating func accept(_ header: FrameHeader) throws(FrameViolation) {
        let before: Int
        if header.opcode == .continuation {
            guard isInsideMessage else { throw .strayContinuation }
            before = messageBytes
        } else {
            guard !isInsideMessage else { throw .interruptedMessage }
            before = 0
        }
        guard header.payloadLength <= maximumMessage - before else { throw .oversizedMessage }
        messageBytes = before + header.payloadLength
        isInsideMessage = !header.isFinal
    }
}
