// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Lets no head of a relay's answer through that is longer than 16 KiB; NIO's decoder bounds single fields only.
///
/// What stands behind the head, messages among it, is not counted; so no head may come before another, as NIO's decoder
/// would let any number of them (1xx) pass.
final class HeadLimiter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var end = HeadEndDetector()
    /// `HTTP/1.1 101`: version and status.
    private var status: [UInt8] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !end.isReached {
            for byte in Self.unwrapInboundIn(data).readableBytesView where !end.isReached && !end.isTooFar {
                if status.count < 12 { status.append(byte) }
                end.take(byte)
            }
            guard !end.isReached || !isInterim else { return refuse(context, "it announces its answer by another") }
        }
        guard !end.isTooFar else { return refuse(context, HeadEndDetector.complaint) }
        context.fireChannelRead(data)
    }

    private var isInterim: Bool {
        let code = status.dropFirst(9)
        return code.first == UInt8(ascii: "1") && !code.elementsEqual("101".utf8)
    }

    private func refuse(_ context: ChannelHandlerContext, _ complaint: String) {
        context.fireErrorCaught(TunnelError.relayMisbehaved(complaint))
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension HeadLimiter: Sendable {}
