// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads
internal import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket

/// The WebSocket request to a relay on a connection that is secure already, and the relay's answer.
struct WebSocketUpgrade: Sendable {
    /// The host's name: the relay's, or of one to which it sends.
    let host: String
    /// Path and query of the request: those of `path`, unless a relay has sent elsewhere.
    let uri: String
    /// What is asked for.
    let path: TunnelPath
    /// By what the relay knows who asks, if it wants to know.
    let bearerToken: BearerToken?

    /// Sends the request; `opened` gets the channel once the relay has accepted, and the routing ID it gave.
    ///
    /// What the channel reads from then on are whole messages that keep RFC 6455. The result fails with a
    /// ``TunnelError``, with a ``Redirect``, or with NIO's error about bytes that are no answer at all. `answered` gets
    /// the head of the answer.
    func start<Opened: Sendable>(
        on channel: any Channel,
        requestKey: String = NIOWebSocketClientUpgrader.randomRequestKey(),
        answered: @escaping @Sendable (HTTPResponseHead) -> Void = { _ in },
        opened: @escaping @Sendable (any Channel, RoutingID?) throws -> Opened
    ) throws -> EventLoopFuture<Opened> {
        let answer = Locked<HTTPResponseHead?>(nil)
        let encoder = HTTPRequestEncoder()
        // The relay may send its first frame right behind its answer: bytes left over must go on to the decoder.
        let decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes))
        let recorder = ResponseHeadRecorder { head in
            answer.withLock { $0 = head }
            answered(head)
        }
        let upgrader = NIOTypedWebSocketClientUpgrader<Opened>(
            requestKey: requestKey,
            maxFrameSize: Limits.messageBytes,
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    let routingID = try accept(head)
                    try addMessageHandlers(to: channel)
                    return try opened(channel, routingID)
                }
            }
        )
        let upgrade = NIOTypedHTTPClientUpgradeHandler<Opened>(
            httpHandlers: [encoder, decoder, recorder],
            upgradeConfiguration: .init(
                upgradeRequestHead: requestHead(),
                upgraders: [upgrader],
                notUpgradingCompletionHandler: { channel in
                    channel.eventLoop.makeFailedFuture(refusal(answer.withLock { $0 }))
                }
            )
        )
        if let bearerToken { try channel.pipeline.syncOperations.addHandler(AuthorizationHandler(bearerToken)) }
        try channel.pipeline.syncOperations.addHandlers([encoder, decoder, recorder, upgrade])
        return upgrade.upgradeResultFuture
    }

    private func requestHead() -> HTTPRequestHead {
        var headers = HTTPHeaders()
        headers.add(name: "Host", value: host)
        headers.add(name: "Sec-WebSocket-Protocol", value: TunnelPath.subprotocol)
        return HTTPRequestHead(version: .http1_1, method: .GET, uri: uri, headers: headers)
    }

    /// NIO checks `Sec-WebSocket-Accept` and nothing else of the relay's answer.
    ///
    /// Without both fields of an upgrade its decoder goes on reading HTTP, and frames behind the answer are lost.
    private func accept(_ head: HTTPResponseHead) throws(TunnelError) -> RoutingID? {
        for (field, token) in [("Upgrade", "websocket"), ("Connection", "upgrade")] {
            guard head.headers[canonicalForm: field].contains(where: { $0.lowercased() == token }) else {
                throw .relayMisbehaved("it did not say \(field): \(token)")
            }
        }
        guard head.headers["Sec-WebSocket-Protocol"] == [TunnelPath.subprotocol] else {
            throw .relayMisbehaved("it did not choose the sub-protocol \(TunnelPath.subprotocol)")
        }
        guard head.headers["Sec-WebSocket-Extensions"].isEmpty else {
            throw .relayMisbehaved("it chose an extension nobody offered")
        }
        guard case .new = path else { return nil }
        let values = head.headers[TunnelPath.routingIDHeader]
        guard values.count == 1, let id = RoutingID(hex: values[0]) else {
            throw .relayMisbehaved("it gave no routing ID")
        }
        return id
    }

    private func addMessageHandlers(to channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandlers([
            WebSocketPolicyHandler(),
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0,
                maxAccumulatedFrameCount: 1024,
                maxAccumulatedFrameSize: Limits.messageBytes
            ),
        ])
    }

    private func refusal(_ head: HTTPResponseHead?) -> any Error {
        guard let head else { return TunnelError.hungUp(host: host, .upgrading) }
        if Redirect.statuses.contains(head.status.code) {
            do throws(RedirectFault) {
                return try Redirect(head, from: (host, uri))
            } catch {
                return TunnelError.redirectRefused(host: host, error)
            }
        }
        switch head.status.code {
        case 404: return TunnelError.tunnelNotFound
        case 401: return TunnelError.notAuthorised
        case 429, 503: return TunnelError.relayBusy
        case let status: return TunnelError.refused(status: Int(status))
        }
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
extension ResponseHeadRecorder: Sendable {}
