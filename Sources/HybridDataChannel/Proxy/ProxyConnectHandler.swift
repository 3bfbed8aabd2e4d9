// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The first handler of a connection through a proxy: asks it for a tunnel to the relay, and lets TLS begin when it is
/// there.
///
/// Until then nobody behind this handler learns that the connection is open, so nothing but the request is sent.
final class ProxyConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let proxy: HTTPProxy
    private let target: String
    private let opened: () -> Void
    private let failed: (TunnelError) -> Void
    private var answer = ResponseHead()
    private var isWaiting = true
    /// What the proxy is asked, when it was sent.
    private(set) var request: SecretRequest?

    /// A handler that asks for a way to `host`; one of the closures is called once.
    init(
        proxy: HTTPProxy,
        host: String,
        port: Int,
        opened: @escaping () -> Void,
        failed: @escaping (TunnelError) -> Void
    ) {
        self.proxy = proxy
        target = (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
        self.opened = opened
        self.failed = failed
    }

    func channelActive(context: ChannelHandlerContext) {
        let head = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
        let capacity = head.utf8.count + (proxy.authorization?.fieldLength ?? 0) + 2
        let request = SecretRequest(capacity: capacity, context.channel.allocator)
        request.append(head.utf8)
        proxy.authorization?.appendField(to: request)
        request.append("\r\n")
        self.request = request
        request.write(context)
        context.flush()
        // A socket that is read by itself goes on doing so; whoever waits for this event would have asked for more.
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isWaiting else { return context.fireChannelRead(data) }
        let buffer = Self.unwrapInboundIn(data)
        switch answer.append(buffer.readableBytesView) {
        case .incomplete: break
        case .malformed(let how): end(context, .proxyMisbehaved(proxy: proxy.description, how: how))
        case .complete(let status, let rest): take(status, rest, context)
        }
    }

    private func take(_ status: Int, _ rest: [UInt8], _ context: ChannelHandlerContext) {
        switch status {
        case 200...299:
            // The relay speaks when it is spoken to; who speaks now is the proxy, and not as TLS.
            guard rest.isEmpty else {
                return end(context, .proxyMisbehaved(proxy: proxy.description, how: "it spoke in the relay's place"))
            }
            isWaiting = false
            opened()
            context.fireChannelActive()
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        case 407:
            end(
                context,
                proxy.authorization == nil
                    ? .proxyWantsAuthentication(proxy.description) : .proxyRefusesAuthentication(proxy.description)
            )
        default: end(context, .proxyRefused(proxy: proxy.description, status: status))
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if isWaiting, let event = event as? ChannelEvent, event == .inputClosed {
            return end(context, .proxyHungUp(proxy.description))
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard isWaiting else { return context.fireErrorCaught(error) }
        end(context, .proxyHungUp(proxy.description))
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isWaiting { failed(.proxyHungUp(proxy.description)) }
        context.fireChannelInactive()
    }

    private func end(_ context: ChannelHandlerContext, _ error: TunnelError) {
        failed(error)
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension ProxyConnectHandler: Sendable {}
