// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import NIOCore
internal import NIOWebSocket

/// The last handler of a tunnel, which delivers whole messages and stops reading while too many are unread.
///
/// It answers pings. If several arrive while the relay accepts no data, only the last is answered (RFC 6455 §5.5.3).
final class MessageHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let traffic: TunnelTraffic
    private let path: TunnelPath
    /// True if a read was requested while the buffer was full.
    private var hasPendingRead = false
    private var pendingPong: ByteBuffer?

    private init(traffic: TunnelTraffic, _ path: TunnelPath) { (self.traffic, self.path) = (traffic, path) }

    /// Adds a handler to the end of a channel's pipeline, and returns the state to which it delivers messages.
    static func add(to channel: any Channel, _ path: TunnelPath) throws -> TunnelTraffic {
        let traffic = TunnelTraffic {
            channel.eventLoop.execute {
                // If the handler is gone, there is nothing left to read.
                let handler = try? channel.pipeline.syncOperations.handler(type: MessageHandler.self)
                handler?.resumeReading(channel)
            }
        }
        traffic.setRoomToSend(channel.isWritable)
        try channel.pipeline.syncOperations.addHandler(MessageHandler(traffic: traffic, path))
        return traffic
    }

    private func resumeReading(_ channel: any Channel) {
        guard hasPendingRead, !traffic.isFull else { return }
        hasPendingRead = false
        channel.read()
    }

    func read(context: ChannelHandlerContext) {
        hasPendingRead = traffic.isFull
        if !hasPendingRead { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var frame = Self.unwrapInboundIn(data)
        guard traffic.end == nil else { return }
        switch frame.opcode {
        case .binary: traffic.deliver(WireMessage(bytes: Array(frame.data.readableBytesView)))
        case .ping:
            pendingPong = frame.data
            answerPing(context)
        case .connectionClose: traffic.finish(Self.end(of: path, code: frame.data.readInteger() ?? 1005))
        default: break
        }
    }

    /// Ends the connection if the relay sends nothing for a time that an `IdleStateHandler` measures.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case IdleStateHandler.IdleStateEvent.read = event else {
            return context.fireUserInboundEventTriggered(event)
        }
        traffic.finish(.relaySilent)
        context.close(promise: nil)
    }

    private static func end(of path: TunnelPath, code: UInt16) -> TunnelError {
        if case .contact = path, code == TunnelError.phoneDeclined.closeCode { return .phoneDeclined }
        return .closed(code: code)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        traffic.setRoomToSend(context.channel.isWritable)
        answerPing(context)
        context.fireChannelWritabilityChanged()
    }

    private func answerPing(_ context: ChannelHandlerContext) {
        guard context.channel.isWritable, let payload = pendingPong else { return }
        pendingPong = nil
        context.writeAndFlush(Self.wrapOutboundOut(WebSocketFrame(masked: .pong, payload)), promise: nil)
    }

    /// Records the end of the connection, even if the connection ended before this handler was added.
    func handlerRemoved(context: ChannelHandlerContext) { traffic.finish(.connectionLost) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        traffic.finish(Self.explained(error))
        context.close(promise: nil)
    }

    private static func explained(_ error: any Error) -> TunnelError {
        switch error {
        case let error as TunnelError: error
        case NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge:
            .relayMisbehaved("it sent a message of more than 1 MiB")
        case NIOWebSocketFrameAggregator.Error.tooManyFragments:
            .relayMisbehaved("it sent a message in too many fragments")
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error:
            .relayMisbehaved("it broke the WebSocket protocol")
        default: .connectionLost
        }
    }
}
