// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A handler that limits the head of a response to 16 KiB; NIO's decoder limits only individual fields.
///
/// Bytes after the head are not counted. The number of interim responses (1xx except 101) is limited, because NIO's
/// decoder drops any number of them. Relays must send none. Errors are of type ``MalformedResponse``.
package final class HeadLimiter: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    private var interimResponses: Int
    private var end = HeadEndDetector()
    /// Version and status, the first 12 bytes of the head, such as `HTTP/1.1 101`.
    private var status: [UInt8] = []

    /// Creates a handler.
    ///
    /// - Parameter interimResponses: Maximum number of interim responses before the final one (RFC 9110 §15.2).
    package init(interimResponses: Int = 0) { self.interimResponses = interimResponses }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !end.isReached {
            for byte in Self.unwrapInboundIn(data).readableBytesView where !end.isReached && !end.isTooLong {
                if status.count < 12 { status.append(byte) }
                end.take(byte)
                if end.isReached, isInterim, interimResponses > 0 {
                    interimResponses -= 1
                    (end, status) = (HeadEndDetector(), [])
                }
            }
            guard !end.isReached || !isInterim else { return fail(context, "it sent an interim response") }
        }
        guard !end.isTooLong else { return fail(context, HeadEndDetector.tooLong) }
        context.fireChannelRead(data)
    }

    private var isInterim: Bool {
        let code = status.dropFirst(9)
        return code.first == UInt8(ascii: "1") && !code.elementsEqual("101".utf8)
    }

    private func fail(_ context: ChannelHandlerContext, _ complaint: String) {
        context.fireErrorCaught(MalformedResponse(complaint: complaint))
        context.close(promise: nil)
    }
}
