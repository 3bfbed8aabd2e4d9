// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOTLS

/// Notes how far the opening of a tunnel has come, so that a time-out can say where it was.
final class OpeningObserver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let progress: (TunnelStage) -> Void

    init(progress: @escaping (TunnelStage) -> Void) { self.progress = progress }

    func channelActive(context: ChannelHandlerContext) {
        progress(.securing)
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent, case .handshakeCompleted = event { progress(.upgrading) }
        context.fireUserInboundEventTriggered(event)
    }
}

@available(*, unavailable)
extension OpeningObserver: Sendable {}
