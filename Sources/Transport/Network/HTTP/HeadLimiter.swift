// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A handler that limits the head of a response to 16 KiB; NIO's decoder limits only individual fields.
///
/// Bytes after the head are not counted. The number of interim responses is limited, because NIO's decoder drops any
/// number of them. Errors are of type ``MalformedResponse``.
package final class HeadLimiter: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    private var interim = InterimResponses()
    private var end = HeadEndDetector()
    /// Version and status, the first 12 bytes of the head, such as `HTTP/1.1 101`.
    private var status: [UInt8] = []

    /// Creates a handler.
    package init() {}

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !end.isReached {
            for byte in Self.unwrapInboundIn(data).readableBytesView where !end.isReached && !end.isTooLong {
                if status.count < 12 { status.append(byte) }
                end.take(byte)
                if end.isReached, isInterim, interim.mayContinue() { (end, status) = (HeadEndDetector(), []) }
            }
            guard !end.isReached || !isInterim else { return fail(context, InterimResponses.tooMany) }
        }
        guard !end.isTooLong else { return fail(context, HeadEndDetector.tooLong) }
        context.fireChannelRead(data)
    }

    private var isInterim: Bool {
        let code = String(decoding: status.dropFirst(9), as: UTF8.self)
        return Int(code).map(InterimResponses.include) ?? false
    }

    private func fail(_ context: ChannelHandlerContext, _ complaint: String) {
        context.fireErrorCaught(MalformedResponse(complaint: complaint))
        context.close(promise: nil)
    }
}
