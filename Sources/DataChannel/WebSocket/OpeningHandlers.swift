// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
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

/// Keeps the head of the relay's answer: where the upgrade is refused, its status says why.
final class ResponseHeadRecorder: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private let record: (HTTPResponseHead) -> Void

    init(record: @escaping (HTTPResponseHead) -> Void) { self.record = record }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = Self.unwrapInboundIn(data) { record(head) }
        context.fireChannelRead(data)
    }
}

@available(*, unavailable)
extension OpeningObserver: Sendable {}
@available(*, unavailable)
extension ResponseHeadRecorder: Sendable {}
