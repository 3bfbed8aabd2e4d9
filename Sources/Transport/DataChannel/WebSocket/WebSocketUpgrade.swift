// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridThreads
internal import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket

/// The WebSocket request to a relay over TLS, perhaps as early data, and the relay's response.
struct WebSocketUpgrade: Sendable {
    /// The name of the relay, or of a host that it redirects to.
    let host: String
    /// The host's name in error messages.
    let displayName: String
    /// Path and query of the request: those of `path`, or of a redirection.
    let uri: String
    /// The requested tunnel.
    let path: TunnelPath
    /// The message to a linked phone, if one is contacted.
    var payload: ClientPayload?
    /// The relay's token, if there is one.
    let bearerToken: BearerToken?

    /// Facts from the header fields of a response that opens a WebSocket.
    struct Acceptance: Equatable {
        /// The routing ID, if a new tunnel was requested.
        var routingID: RoutingID?
        /// True if the relay announces the arrival of the contacted phone.
        var signalsConnection = false
    }

    /// Sends the request.
    ///
    /// Once the relay has accepted the request, the channel reads whole messages that conform to RFC 6455. The result
    /// fails with a ``TunnelError``, a `Redirect`, or NIO's error for bytes that are not a response.
    ///
    /// - Parameters:
    ///   - channel: The channel, with TLS established or being established.
    ///   - requestKey: The value of `Sec-WebSocket-Key`.
    ///   - answered: Receives the head of the response.
    ///   - opened: Receives the channel and facts from the response once the relay has accepted.
    func start<Opened: Sendable>(
        on channel: any Channel,
        requestKey: String = NIOWebSocketClientUpgrader.randomRequestKey(),
        answered: @escaping @Sendable (HTTPResponseHead) -> Void = { _ in },
        opened: @escaping @Sendable (any Channel, Acceptance) throws -> Opened
    ) throws -> EventLoopFuture<Opened> {
        let answer = Locked<HTTPResponseHead?>(nil)
        let encoder = HTTPRequestEncoder()
        // The relay may send its first frame right after its response, so remaining bytes must reach the frame decoder.
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
                    let acceptance = try accept(head)
                    try addMessageHandlers(to: channel)
                    return try opened(channel, acceptance)
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
        var headers: HTTPHeaders = [
            "Host": host, "User-Agent": UserAgent.text, "Sec-WebSocket-Protocol": subprotocol,
        ]
        if let payload {
            headers.add(name: TunnelPath.clientPayloadHeader, value: payload.hex)
            headers.add(name: TunnelPath.signalConnectionHeader, value: "true")
        }
        return HTTPRequestHead(version: .http1_1, method: .GET, uri: uri, headers: headers)
    }

    private var subprotocol: String {
        if case .listen = path { ListenMessage.subprotocol } else { TunnelPath.subprotocol }
    }

    /// Checks the header fields of the relay's response that NIO ignores; NIO checks only `Sec-WebSocket-Accept`.
    ///
    /// Without `Upgrade` and `Connection`, NIO's decoder continues with HTTP, and frames after the response are lost.
    private func accept(_ head: HTTPResponseHead) throws(TunnelError) -> Acceptance {
        for (field, token) in [("Upgrade", "websocket"), ("Connection", "upgrade")] {
            guard head.headers[canonicalForm: field].contains(where: { $0.lowercased() == token }) else {
                throw .relayMisbehaved("it did not send \(field): \(token)")
            }
        }
        guard head.headers["Sec-WebSocket-Protocol"] == [subprotocol] else {
            throw .relayMisbehaved("it did not choose the sub-protocol \(subprotocol)")
        }
        guard head.headers["Sec-WebSocket-Extensions"].isEmpty else {
            throw .relayMisbehaved("it chose an extension that was not offered")
        }
        if case .contact = path {
            return Acceptance(signalsConnection: head.headers.contains(name: TunnelPath.signalConnectionHeader))
        }
        guard case .new = path else { return Acceptance() }
        let values = head.headers[TunnelPath.routingIDHeader]
        guard values.count == 1, let id = RoutingID(hex: values[0]) else {
            throw .relayMisbehaved("it gave no routing ID")
        }
        return Acceptance(routingID: id)
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
        guard let head else { return TunnelError.network(.disconnected(host: displayName, .upgrading)) }
        if Redirect.statuses.contains(head.status.code) {
            do throws(RedirectError) {
                return try Redirect(head, from: (host, uri))
            } catch {
                return TunnelError.network(.redirectRefused(host: host, error))
            }
        }
        switch (path, head.status.code) {
        case (.contact, 404): return TunnelError.contactUnreachable
        case (.contact, 410): return TunnelError.contactGone(ContactRevocation(head.headers))
        case (.contact, 429): return TunnelError.contactLimited
        case (.listen, 404): return TunnelError.listeningNotOffered
        default: return TunnelError.refusal(status: head.status.code)
        }
    }
}

extension ContactRevocation {
    /// Creates a revocation from a response; `nil` unless it has exactly one of each field, and both are well formed.
    fileprivate init?(_ headers: HTTPHeaders) {
        func bytes(_ name: String, _ length: Int) -> [UInt8]? {
            let values = headers[name]
            return values.count == 1 ? Base64URL.decode(values[0], maximumLength: length) : nil
        }
        guard let key = bytes(TunnelPath.contactKeyHeader, ContactPublicKey.length),
            let signature = bytes(TunnelPath.contactGoneHeader, ContactSignature.length),
            let publicKey = ContactPublicKey(bytes: key), let signature = ContactSignature(bytes: signature)
        else { return nil }
        self.init(publicKey: publicKey, signature: signature)
    }
}

/// A handler that records the head of the relay's response, whose status is the reason for a failed upgrade.
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
