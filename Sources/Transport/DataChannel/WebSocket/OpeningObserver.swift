// SPDX-License-Identifier: Apache-2.0

internal import HybridNetwork
internal import NIOCore
internal import NIOTLS

/// A handler that reports the stage of opening a tunnel, and closes the channel at the end of the relay's input.
///
/// A relay's response, its last messages and the end of its input may arrive in one read. The message handlers are
/// added one turn of the event loop after the response, so the channel must not be closed before.
final class OpeningObserver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let progress: (NetworkError.Stage) -> Void
    private let failing: () -> Void

    /// Creates an observer; `failing` is called on an error, before the connection is closed.
    init(progress: @escaping (NetworkError.Stage) -> Void, failing: @escaping () -> Void) {
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
        failing()
        context.fireErrorCaught(error)
    }
}
