// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// An event in the bytes that one end sends.
public enum FrameEvent: Hashable, Sendable {
    /// Frames for the other end, unmasked, with a server's headers, ready to be written.
    ///
    /// `cost` is the number of bytes that they count against the tunnel's limit.
    case data(ByteBuffer, cost: Int)
    /// A ping, to be answered with its payload of at most 125 bytes.
    case ping([UInt8])
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

/// A reader that validates the bytes that one end sends and converts them to frames for the other end.
///
/// ``append(_:)`` takes bytes in pieces of any size; ``next()`` returns events until it returns `nil`. The boundaries
/// and order of messages and fragments are preserved. The only exception is a frame of more than 64 KiB. As RFC 6455
/// §5.4 permits, it is forwarded in fragments as it arrives. So a relay never holds much more than 64 KiB of a frame,
/// and can send a close frame between the fragments. After a violation or a close frame, there are no more events.
public struct FrameReader: Sendable {
    /// Maximum length of a payload that is held until its frame is complete, in bytes.
    public static let heldPayload = 64 << 10

    /// A frame that is too large to be held and is being forwarded in fragments.
    private struct LargeFrame: Sendable {
        var opcode: FrameHeader.Opcode
        let isFinal: Bool
        /// The mask, rotated so that its first byte applies to the next byte of payload.
        var mask: UInt32
        var remaining: Int
    }

    /// Capacity in bytes up to which a buffer is not replaced by a smaller one.
    private static let smallStorage = 512

    private var held = ByteBuffer()
    private var fragmentation: FragmentationState
    private var large: LargeFrame?
    private var violation: FrameViolation?
    private var isClosed = false

    /// Creates a reader for messages of up to `maximumMessage` bytes.
    public init(maximumMessage: Int) {
        fragmentation = FragmentationState(maximumMessage: maximumMessage)
    }

    /// Appends the next bytes from the end.
    public mutating func append(_ bytes: ByteBuffer) {
        guard violation == nil, !isClosed, bytes.readableBytes > 0 else { return }
        if held.readableBytes == 0 {
            held = bytes
        } else {
            held.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the next event; `nil` if more bytes are needed.
    ///
    /// - Throws: The first violation, again on each later call.
    public mutating func next() throws(FrameViolation) -> FrameEvent? {
        var none = ByteBuffer()
        return try next(reusing: &none)
    }

    /// Returns the next event like ``next()``, with frames in `buffer` if it has room and its storage is not shared.
    ///
    /// This avoids two allocations for most messages, because a socket usually accepts written bytes at once.
    public mutating func next(reusing buffer: inout ByteBuffer) throws(FrameViolation) -> FrameEvent? {
        if let violation { throw violation }
        do {
            return try step(reusing: &buffer)
        } catch {
            violation = error
            held = ByteBuffer()
            throw error
        }
    }

    /// Removes bytes from the front, and releases the socket's buffer if no bytes are left.
    ///
    /// Otherwise, reading the socket would need another buffer. With TLS, that is 16 KiB for every idle connection that
    /// has ever answered a ping.
    private mutating func drop(_ count: Int) {
        if count == held.readableBytes { held = ByteBuffer() } else { held.moveReaderIndex(forwardBy: count) }
    }

    /// Keeps the remaining bytes until more arrive, in a buffer that is not much larger than needed.
    private mutating func wait() -> FrameEvent? {
        if held.storageCapacity >= 4 * held.readableBytes, held.storageCapacity > Self.smallStorage {
            held = ByteBuffer(bytes: held.readableBytesView)
        }
        return nil
    }

    private mutating func step(reusing buffer: inout ByteBuffer) throws(FrameViolation) -> FrameEvent? {
        // Most reads end with a message.
        guard held.readableBytes > 0 else { return nil }
        if large != nil { return takePiece() }
        if let data = try takeWholeFrames(reusing: &buffer) { return data }
        guard let header = try peekHeader() else { return wait() }
        if header.opcode.isControl { return try takeControl(header) }
        // Every violation is visible in the header, so the reader never waits for the payload of an invalid frame.
        var next = fragmentation
        try next.accept(header)
        guard header.payloadLength > Self.heldPayload else { return wait() }
        fragmentation = next
        large = LargeFrame(
            opcode: header.opcode,
            isFinal: header.isFinal,
            mask: header.mask,
            remaining: header.payloadLength
        )
        held.moveReaderIndex(forwardBy: header.length)
        return takePiece()
    }

    private func peekHeader() throws(FrameViolation) -> FrameHeader? {
        try held.withUnsafeReadableBytes { bytes in
            Result { () throws(FrameViolation) in try FrameHeader(parsing: bytes) }
        }.get()
    }

    private mutating func takeControl(_ header: FrameHeader) throws(FrameViolation) -> FrameEvent? {
        let end = header.length + header.payloadLength
        guard held.readableBytes >= end else { return wait() }
        var payload = [UInt8](repeating: 0, count: header.payloadLength)
        held.withUnsafeReadableBytes { bytes in
            payload.withUnsafeMutableBytes { target in
                Mask.copy(UnsafeRawBufferPointer(rebasing: bytes[header.length..<end]), to: target, mask: header.mask)
            }
        }
        drop(end)
        switch header.opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong
        default: return .close(try takeCloseCode(payload))
        }
    }

    private mutating func takeCloseCode(_ payload: [UInt8]) throws(FrameViolation) -> CloseCode? {
        isClosed = true
        held = ByteBuffer()
        guard !payload.isEmpty else { return nil }
        guard payload.count >= 2, let code = CloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1])) else {
            throw .malformedClose
        }
        guard String(validating: payload[2...], as: UTF8.self) != nil else { throw .malformedReason }
        return code
    }

    /// Returns the available part of a large frame, once it is large enough for a fragment.
    private mutating func takePiece() -> FrameEvent? {
        guard var frame = large else { return nil }
        let count = min(held.readableBytes, frame.remaining)
        guard count == frame.remaining || count >= Self.heldPayload else { return wait() }
        let isLast = count == frame.remaining
        var piece = ByteBuffer()
        piece.writeWithUnsafeMutableBytes(minimumWritableBytes: ServerFrame.maximumHeaderLength + count) { target in
            held.withUnsafeReadableBytes { bytes in
                ServerFrame.write(
                    UnsafeRawBufferPointer(rebasing: bytes[..<count]),
                    opcode: frame.opcode,
                    isFinal: isLast && frame.isFinal,
                    mask: frame.mask,
                    to: target
                )
            }
        }
        drop(count)
        frame.opcode = .continuation
        frame.mask = Mask.rotated(frame.mask, by: count)
        frame.remaining -= count
        large = isLast ? nil : frame
        return .data(piece, cost: max(count, FrameEvent.minimumCost))
    }
}

// MARK: - Complete frames

extension FrameReader {
    /// The result of processing the held bytes.
    private struct Run {
        var read = 0
        var written = 0
        var cost = 0
        var failure: FrameViolation?
    }

    /// Unmasks all complete data frames at the front into one buffer, so that one write sends them.
    ///
    /// Stops at a control frame, an incomplete frame, or a violation after valid frames.
    private mutating func takeWholeFrames(reusing spare: inout ByteBuffer) throws(FrameViolation) -> FrameEvent? {
        let readable = held.readableBytes
        guard readable >= 6 else { return nil }
        var frames = ByteBuffer()
        var run = Run()
        // A server's header is four bytes shorter than a client's, so the result is never longer than the input.
        if readable <= spare.capacity, spare.modifyIfUniquelyOwned({ copyFrames(to: &$0, run: &run) }) != nil {
            frames = spare
        } else {
            copyFrames(to: &frames, run: &run)
        }
        guard run.read > 0 else {
            if let failure = run.failure { throw failure }
            return nil
        }
        drop(run.read)
        return .data(frames, cost: run.cost)
    }

    private mutating func copyFrames(to target: inout ByteBuffer, run: inout Run) {
        target.clear()
        target.writeWithUnsafeMutableBytes(minimumWritableBytes: held.readableBytes) { target in
            held.withUnsafeReadableBytes { bytes in
                do throws(FrameViolation) {
                    try Self.copyFrames(bytes, to: target, fragmentation: &fragmentation, run: &run)
                } catch {
                    run.failure = error
                }
            }
            return run.written
        }
    }

    private static func copyFrames(
        _ bytes: UnsafeRawBufferPointer,
        to target: UnsafeMutableRawBufferPointer,
        fragmentation: inout FragmentationState,
        run: inout Run
    ) throws(FrameViolation) {
        while run.read < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[run.read...])
            guard let header = try FrameHeader(parsing: rest), !header.opcode.isControl,
                header.payloadLength <= rest.count - header.length
            else { return }
            try fragmentation.accept(header)
            let end = header.length + header.payloadLength
            run.written += ServerFrame.write(
                UnsafeRawBufferPointer(rebasing: rest[header.length..<end]),
                opcode: header.opcode,
                isFinal: header.isFinal,
                mask: header.mask,
                to: UnsafeMutableRawBufferPointer(rebasing: target[run.written...])
            )
            run.read += end
            run.cost += max(header.payloadLength, FrameEvent.minimumCost)
        }
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
