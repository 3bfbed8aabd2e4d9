// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The first words of a balancer's connection: a PROXY header that says for whom it is, before TLS or HTTP.
///
/// Without a header, with a wrong one, or with one that does not come in time the balancer is hung up on: guessing
/// would let its own address stand for everybody's.
final class ProxyHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let entrance: ConnectionSetup
    private var reader = ProxyHeaderReader()
    private var alarm: Scheduled<Void>?
    private var isDone = false

    init(_ entrance: ConnectionSetup) { self.entrance = entrance }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        let registry = entrance.registry
        alarm = context.eventLoop.scheduleTask(in: registry.limits.headTime) {
            registry.rejectedHeader()
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { alarm?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDone else { return }
        do {
            guard let (header, rest) = try reader.receive(Self.unwrapInboundIn(data)) else { return }
            isDone = true
            try entrance.open(context.channel, from: header.source)
            if rest.readableBytes > 0 { context.fireChannelRead(Self.wrapInboundOut(rest)) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            isDone = true
            entrance.registry.rejectedHeader()
            context.close(promise: nil)
        }
    }
}

@available(*, unavailable)
extension ProxyHandler: Sendable {}
