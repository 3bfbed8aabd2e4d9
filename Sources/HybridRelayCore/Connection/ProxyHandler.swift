// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// A handler that reads the PROXY header of a load balancer's connection, which precedes TLS and HTTP.
///
/// If the header is missing, malformed or late, the connection is closed. Otherwise, the load balancer's own address
/// would count as the source of its connections.
final class ProxyHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let setup: ConnectionSetup
    private var reader = ProxyHeaderReader()
    private var timeoutTask: Scheduled<Void>?
    private var isDone = false

    init(_ setup: ConnectionSetup) { self.setup = setup }

    func handlerAdded(context: ChannelHandlerContext) {
        let (channel, admission) = (context.channel, setup.admission)
        timeoutTask = context.eventLoop.scheduleTask(in: setup.registry.limits.headTime) {
            admission.recordRejection(.proxy)
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timeoutTask?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDone else { return }
        do {
            guard let (header, rest) = try reader.receive(Self.unwrapInboundIn(data)) else { return }
            isDone = true
            try setup.open(context.channel, from: header.source)
            if rest.readableBytes > 0 { context.fireChannelRead(Self.wrapInboundOut(rest)) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            isDone = true
            setup.admission.recordRejection(.proxy)
            context.close(promise: nil)
        }
    }
}

@available(*, unavailable)
extension ProxyHandler: Sendable {}
