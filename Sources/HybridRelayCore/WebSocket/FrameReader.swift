// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Turns the bytes that one end sends into frames for the other, and judges them on the way.
///
/// Bytes go in with ``append(_:)`` in whatever pieces the network made of them; events come out of ``next()``
/// until it answers `nil`. It keeps the boundaries and order of messages and of fragments. A frame of more than
/// 64 KiB is the one exception: it leaves in fragments as it comes in (RFC 6455 §5.4 lets an intermediary do
/// so), so a relay holds no more than that of anybody's frame, and can put a close frame between the pieces.
/// After a violation, or after a close frame, nothing more comes out.
public struct FrameReader: Sendable {
    /// The largest frame that is held until it is complete, in bytes of payload.
    public static let heldPayload = 64 << 10

    /// A frame too large to be held, on its way.
    private struct LargeFrame: Sendable {
        var opcode: FrameHeader.Opcode
        let isFinal: Bool
        /// The mask, turned so that its first byte belongs to the next byte of payload.
        var mask: UInt32
        var remaining: Int
    }

    /// A buffer of so many bytes is not worth a smaller one.
    private static let littleStorage = 512

    private var held = ByteBuffer()
    private var order: FragmentationState
    private var large: LargeFrame?
    private var violation: FrameViolation?
    private var isClosed = false

    /// A reader that accepts messages of up to `maximumMessage` bytes.
    public init(maximumMessage: Int) {
        order = FragmentationState(maximumMessage: maximumMessage)
    }

    /// Takes the next bytes of the end.
    public mutating func append(_ bytes: ByteBuffer) {
        guard violation == nil, !isClosed, bytes.readableBytes > 0 else { return }
        if held.readableBytes == 0 {
            held = bytes
        } else {
            held.writeImmutableBuffer(bytes)
        }
    }

    /// The next event; `nil` when more bytes are needed.
    ///
    /// - Throws: the first violation, again at each later call.
    public mutating func next() throws(FrameViolation) -> FrameEvent? {
        var none = ByteBuffer()
        return try next(reusing: &none)
    }

    /// The next event, as of ``next()``, with frames in a buffer that is used again if there is room in it and nobody
    /// holds its last content any more.
    ///
    /// It spares most messages two allocations: a socket takes what is written to it at once, as a rule.
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

    /// Takes bytes off the front, and gives the socket's buffer back where none is left.
    ///
    /// Whoever reads the socket would need another one meanwhile: with TLS, 16 KiB for every silent connection that has
    /// once answered a ping.
    private mutating func drop(_ count: Int) {
        if count == held.readableBytes { held = ByteBuffer() } else { held.moveReaderIndex(forwardBy: count) }
    }

    /// Keeps the rest for when more has come, in a buffer that is not much larger.
    private mutating func wait() -> FrameEvent? {
        if held.storageCapacity >= 4 * held.readableBytes, held.storageCapacity > Self.littleStorage {
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
        // What is wrong with a frame shows in its header: nobody waits for a payload that will be refused.
        var orderAfter = order
        try orderAfter.enter(header)
        guard header.payloadLength > Self.heldPayload else { return wait() }
        order = orderAfter
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

    /// As much of a large frame as is there, once that is worth a frame of its own.
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
        frame.mask = Mask.turned(frame.mask, by: count)
        frame.remaining -= count
        large = isLast ? nil : frame
        return .data(piece, cost: max(count, FrameEvent.minimumCost))
    }
}

// MARK: - Frames that are complete

extension FrameReader {
    /// What a run over the held bytes found.
    private struct Run {
        var read = 0
        var written = 0
        var cost = 0
        var failure: FrameViolation?
    }

    /// Unmasks as many complete data frames as there are into one buffer, so that one write carries them.
    ///
    /// Stops before anything else: a control frame, a frame that is not complete, a violation behind others.
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
                    try Self.copyFrames(bytes, to: target, order: &order, run: &run)
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
        order: inout FragmentationState,
        run: inout Run
    ) throws(FrameViolation) {
        while run.read < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[run.read...])
            guard let header = try FrameHeader(parsing: rest), !header.opcode.isControl,
                header.payloadLength <= rest.count - header.length
            else { return }
            try order.enter(header)
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
