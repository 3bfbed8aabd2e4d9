// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A handler that limits the head of a response to 16 KiB, and passes on no interim response before it.
///
/// NIO's decoder limits only individual fields. It also takes the connection for closed after an interim response of
/// HTTP/1.0, with `Connection: close` or with bare line feeds, which clients accept. Bytes after the head are not counted.
/// Errors are of type ``MalformedResponse``.
package final class HeadLimiter: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    private static let start = Array("HTTP/1.".utf8)
    /// Length in bytes of version and status, such as `HTTP/1.1 101`.
    private static let statusEnd = 12

    private var interim = InterimResponses()
    private var end = HeadEndDetector()
    /// The first bytes of the head, up to the status.
    private var status: [UInt8] = []
    /// Bytes of a head whose status is not known yet.
    private var held = ByteBuffer()

    /// Creates a handler.
    package init() {}

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !end.isReached else { return context.fireChannelRead(data) }
        let piece = Self.unwrapInboundIn(data)
        var first = piece.readerIndex
        for (index, byte) in zip(piece.readerIndex..., piece.readableBytesView) {
            if status.count < Self.statusEnd { status.append(byte) }
            end.take(byte)
            guard !end.isTooLong else { return fail(context, HeadEndDetector.tooLong) }
            guard end.isReached else { continue }
            guard code.map(InterimResponses.include) == true else { break }
            guard interim.mayContinue() else { return fail(context, InterimResponses.tooMany) }
            (end, status, first) = (HeadEndDetector(), [], index + 1)
            held.clear()
        }
        if let code {
            guard code >= 100 else { return fail(context, "it does not speak HTTP") }
            if InterimResponses.include(code) { return held.clear() }
        }
        held.writeImmutableBuffer(piece.getSlice(at: first, length: piece.writerIndex - first) ?? ByteBuffer())
        // Something else than HTTP is reported at once.
        let mayBeInterim = !end.isReached && status.count < Self.statusEnd && isHTTP
        guard !mayBeInterim, held.readableBytes > 0 else { return }
        let passed = held
        held = ByteBuffer()
        context.fireChannelRead(Self.wrapInboundOut(passed))
    }

    /// The status; `nil` as long as it is not known, or if this is not HTTP.
    private var code: Int? {
        guard isHTTP, status.count == Self.statusEnd else { return nil }
        return Int(String(decoding: status.dropFirst(9), as: UTF8.self))
    }

    private var isHTTP: Bool { status.prefix(Self.start.count).elementsEqual(Self.start.prefix(status.count)) }

    private func fail(_ context: ChannelHandlerContext, _ complaint: String) {
        context.fireErrorCaught(MalformedResponse(complaint: complaint))
        context.close(promise: nil)
    }
}
