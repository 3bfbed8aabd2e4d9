// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// One host on the way to a tunnel, asked once.
struct Hop: Sendable {
    /// Its name, in lower case.
    let host: String
    /// Path and query of the request.
    let path: String
    /// Whether it may stand in this device's own network: the relay that was named may, where it sends to may not.
    let mayBeLocal: Bool
}

/// What was learnt on the way, however it ended.
struct HopFacts: Sendable {
    /// Host and port of the proxy, if there is one.
    var proxy: String?
    /// What the name, or the proxy's, has for addresses.
    var addresses: [SocketAddress] = []
    /// Where the connection went to.
    var peer: NetworkAddress?
    /// What was shown in the TLS handshake.
    var certificate: PresentedCertificate?
    /// The HTTP answer, without a body.
    var answer: HTTPResponseHead?
}

/// From nothing to an accepted WebSocket at one host: proxy, name, TCP, TLS, request, answer; each step bounded in time.
struct HopOpening: Sendable {
    let hop: Hop
    let location: RelayLocation
    let path: TunnelPath
    let bearerToken: BearerToken?
    let tls: NIOSSLContext

    private struct Progress {
        var facts = HopFacts()
        var stage = TunnelStage.connecting
        /// What ended it, where that is known better than by NIO's error.
        var failure: TunnelError?
        var isAtProxy = false
        var timedOut = false
        var cancelled = false
        var channel: (any Channel)?
    }

    private let progress = NIOLockedValueBox(Progress())

    init(_ hop: Hop, _ location: RelayLocation, _ path: TunnelPath, _ bearerToken: BearerToken?, _ tls: NIOSSLContext) {
        self.hop = hop
        self.location = location
        self.path = path
        self.bearerToken = bearerToken
        self.tls = tls
    }

    /// What was learnt so far.
    var facts: HopFacts { progress.withLockedValue { $0.facts } }

    /// - Throws: ``TunnelError``, ``Redirect``, `CancellationError`.
    func open() async throws -> OpenedTunnel {
        let proxy = try location.proxies.proxy(for: hop.host, port: RelayLocation.port)
        progress.withLockedValue { progress in
            progress.facts.proxy = proxy?.description
            progress.isAtProxy = proxy != nil
        }
        return try await withTaskCancellationHandler {
            do {
                let upgrade = try await connect(by: proxy)
                // From here on the channel is the caller's to close, also if the task was cancelled meanwhile.
                return try await upgrade.get()
            } catch {
                progress.withLockedValue { $0.channel }?.close(promise: nil)
                try Task.checkCancellation()
                if let redirect = error as? Redirect { throw redirect }
                throw explained(error)
            }
        } onCancel: {
            let channel = progress.withLockedValue { progress in
                progress.cancelled = true
                return progress.channel
            }
            channel?.close(promise: nil)
        }
    }

    private func connect(by proxy: HTTPProxy?) async throws -> EventLoopFuture<OpenedTunnel> {
        let target = location.target(of: hop.host)
        let isFree = hop.mayBeLocal || target.isChosen || proxy != nil
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let resolver = RelayResolver(location.lookup, on: loop) { address in
            isFree || address.isGlobal
        } found: { [progress] addresses in
            progress.withLockedValue { $0.facts.addresses = addresses }
        }
        // Behind a name NIO tries IPv6 and IPv4 next to each other (RFC 8305).
        return try await ClientBootstrap(group: loop)
            .resolver(resolver)
            .connectTimeout(.seconds(Int64(location.timeouts.connect)))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // So that an answer is read to its end; OpeningObserver closes instead.
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: proxy?.host ?? target.host, port: proxy?.port ?? target.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let cancelled = progress.withLockedValue { progress in
                        progress.channel = channel
                        return progress.cancelled
                    }
                    // Cancelled before there was a channel that could be closed.
                    if cancelled { throw CancellationError() }
                    return try configure(channel, by: proxy, target)
                }
            }
    }

    private func configure(
        _ channel: any Channel,
        by proxy: HTTPProxy?,
        _ target: RelayLocation.Target
    ) throws -> EventLoopFuture<OpenedTunnel> {
        let pipeline = channel.pipeline.syncOperations
        if let proxy { try pipeline.addHandler(connectHandler(proxy, target)) }
        let secure = try NIOSSLClientHandler(context: tls, serverHostname: hop.host)
        try pipeline.addHandler(secure)
        let observer = OpeningObserver(
            progress: { [progress] stage in
                let cancelled = progress.withLockedValue { progress in
                    progress.stage = stage
                    progress.facts.peer = channel.remoteAddress.flatMap(NetworkAddress.init)
                    // Of several that were tried, the one that goes on is the one to be closed.
                    progress.channel = channel
                    return progress.cancelled
                }
                if cancelled { channel.close(promise: nil) }
                if stage == .upgrading { note(secure) }
            },
            failing: { _ in note(secure) }
        )
        try pipeline.addHandlers([observer, HeadLimiter()])
        let upgrade = WebSocketUpgrade(host: hop.host, uri: hop.path, path: path, bearerToken: bearerToken)
        let result = try upgrade.start(on: channel) { [progress] head in
            progress.withLockedValue { $0.facts.answer = head }
        } opened: { channel, routingID in
            // A tunnel has no half that could stay open. NIOSSL, which is told that one may, would let five seconds pass
            // at the end if the relay's goodbye and the end of its input come in one piece.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
            return OpenedTunnel(channel: channel, traffic: try MessageHandler.add(to: channel), routingID: routingID)
        }
        let deadline = channel.eventLoop.scheduleTask(
            in: .seconds(Int64(location.timeouts.connect + location.timeouts.open))
        ) { [progress] in
            progress.withLockedValue { $0.timedOut = true }
            channel.close(promise: nil)
        }
        result.whenComplete { _ in deadline.cancel() }
        result.whenFailure { _ in channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in deadline.cancel() }
        return result
    }

    private func connectHandler(_ proxy: HTTPProxy, _ target: RelayLocation.Target) -> ProxyConnectHandler {
        ProxyConnectHandler(proxy: proxy, host: target.host, port: target.port) { [progress] in
            progress.withLockedValue { $0.isAtProxy = false }
        } failed: { [progress] error in
            progress.withLockedValue { progress in progress.failure = progress.failure ?? error }
        }
    }

    private func note(_ secure: NIOSSLHandler) {
        let certificate = secure.peerCertificate.map(PresentedCertificate.init)
        progress.withLockedValue { $0.facts.certificate = certificate }
    }

    private func explained(_ error: any Error) -> TunnelError {
        let progress = progress.withLockedValue { $0 }
        if let failure = progress.failure { return failure }
        if let proxy = progress.facts.proxy, progress.isAtProxy {
            return ConnectFailure.atProxy(error, proxy, timedOut: progress.timedOut)
        }
        let host = hop.host
        if progress.timedOut { return .timedOut(progress.stage) }
        if let error = error as? TunnelError { return error }
        if let error = TunnelTLS.failure(error, host: host, certificate: progress.facts.certificate) { return error }
        if let error = error as? NIOConnectionError {
            if error.dnsAError is RelayResolver.NothingPermitted || error.dnsAAAAError is RelayResolver.NothingPermitted
            {
                return .redirectRefused(host: host, .local)
            }
            return ConnectFailure.explained(error, host: location.target(of: host).host)
        }
        if let error = error as? ChannelError, case .connectTimeout = error { return .timedOut(.connecting) }
        // An answer 101 whose other fields are wrong.
        if error is NIOHTTPClientUpgradeError { return .relayMisbehaved("its WebSocket handshake is not valid") }
        if case HTTPParserError.invalidEOFState = error { return .hungUp(host: host, progress.stage) }
        if error is HTTPParserError || error is NIOHTTPDecoderError {
            return .relayMisbehaved("it does not speak HTTP")
        }
        if let error = error as? IOError, error.errnoCode != ECONNRESET, error.errnoCode != EPIPE {
            return .unreachable(host: host, reason: "\(error)")
        }
        return .hungUp(host: host, progress.stage)
    }
}
