// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Lets no head of a relay's answer through that is longer than 16 KiB; NIO's decoder bounds single fields only.
///
/// What stands behind the head, messages among it, is not counted.
final class HeadLimiter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var end = HeadEnd()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !end.isReached {
            for byte in Self.unwrapInboundIn(data).readableBytesView where !end.isReached && !end.isTooFar {
                end.take(byte)
            }
        }
        guard !end.isTooFar else {
            context.fireErrorCaught(TunnelError.relayMisbehaved(HeadEnd.complaint))
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(data)
    }
}

@available(*, unavailable)
extension HeadLimiter: Sendable {}
