// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOTLS

/// Notes how far the opening of a tunnel has come, so that a time-out can say where it was; closes at the relay's end.
///
/// A relay's answer, its last messages and its end may arrive in one read. The handlers of messages take their places
/// one turn of the event loop after the answer, so the connection must not be gone by then.
final class OpeningObserver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let progress: (TunnelStage) -> Void
    private let failing: (any Error) -> Void

    /// `failing` is told of errors before anybody closes the connection.
    init(progress: @escaping (TunnelStage) -> Void, failing: @escaping (any Error) -> Void) {
        self.progress = progress
        self.failing = failing
    }

    func channelActive(context: ChannelHandlerContext) {
        progress(.securing)
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent, case .handshakeCompleted = event { progress(.upgrading) }
        if let event = event as? ChannelEvent, event == .inputClosed {
            let channel = context.channel
            context.eventLoop.execute { channel.close(promise: nil) }
            return
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failing(error)
        context.fireErrorCaught(error)
    }
}

@available(*, unavailable)
extension OpeningObserver: Sendable {}
