// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import NIOCore

/// The first handler of a connection through a proxy, which requests a connection to the server.
///
/// The next handlers learn that the connection is open only after the proxy has accepted the request, so nothing else
/// is sent before.
final class ProxyConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let proxy: HTTPProxy
    private let target: HostPort
    private let completion: (Result<Void, NetworkError>) -> Void
    private var answer = ResponseHead()
    private var isWaiting = true
    /// The request; `nil` until it is sent.
    private(set) var request: SecretRequest?

    /// Creates a handler that requests a connection to `target`.
    ///
    /// `completion` is called at least once; only the first call counts.
    init(proxy: HTTPProxy, target: HostPort, completion: @escaping (Result<Void, NetworkError>) -> Void) {
        self.proxy = proxy
        self.target = target
        self.completion = completion
    }

    func channelActive(context: ChannelHandlerContext) {
        let head = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n" + UserAgent.line
        let capacity = head.utf8.count + (proxy.authorization?.fieldLength ?? 0) + 2
        let request = SecretRequest(capacity: capacity, context.channel.allocator)
        request.append(head.utf8)
        proxy.authorization?.appendField(to: request)
        request.append("\r\n")
        self.request = request
        request.write(context)
        context.flush()
        // If automatic reading is off, the next handlers would request this read, but they have not seen this event
        // yet.
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isWaiting else { return context.fireChannelRead(data) }
        switch answer.append(Self.unwrapInboundIn(data).readableBytesView) {
        case .incomplete: break
        case .malformed(let how): fail(context, .proxyMisbehaved(proxy: proxy.description, how: how))
        case .complete(let status, let rest): take(status, rest, context)
        }
    }

    private func take(_ status: Int, _ rest: [UInt8], _ context: ChannelHandlerContext) {
        let name = proxy.description
        switch status {
        case 200...299:
            // The server sends nothing before TLS begins, so these bytes come from the proxy.
            guard rest.isEmpty else {
                return fail(context, .proxyMisbehaved(proxy: name, how: "it sent data in the relay's place"))
            }
            isWaiting = false
            completion(.success(()))
            context.fireChannelActive()
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        case 407 where proxy.authorization == nil: fail(context, .proxyWantsAuthentication(name))
        case 407: fail(context, .proxyRefusesAuthentication(name))
        default: fail(context, .proxyRefused(proxy: name, status: status))
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if isWaiting, let event = event as? ChannelEvent, event == .inputClosed {
            return fail(context, .proxyDisconnected(proxy.description))
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard isWaiting else { return context.fireErrorCaught(error) }
        fail(context, .proxyDisconnected(proxy.description))
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isWaiting { completion(.failure(.proxyDisconnected(proxy.description))) }
        context.fireChannelInactive()
    }

    private func fail(_ context: ChannelHandlerContext, _ error: NetworkError) {
        completion(.failure(error))
        context.close(promise: nil)
    }
}

extension HTTPProxy {
    /// Returns the first handler of a connection to the proxy, which requests a connection to `host`.
    ///
    /// - Parameters:
    ///   - host: The name or address of the server.
    ///   - port: The server's port.
    ///   - completion: Receives the result. It is called at least once; only the first call counts.
    package func connectHandler(
        to host: String,
        port: Int,
        completion: @escaping (Result<Void, NetworkError>) -> Void
    ) -> any ChannelHandler {
        ProxyConnectHandler(proxy: self, target: HostPort(host: host, port: port), completion: completion)
    }
}
