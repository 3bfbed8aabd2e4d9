// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads
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
struct HopDiagnostics: Sendable {
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
struct HopConnector: Sendable {
    let hop: Hop
    let location: RelayEndpoint
    let path: TunnelPath
    let bearerToken: BearerToken?
    let tls: NIOSSLContext
    /// Where the alert goes that TLS ends with, if somebody wants to know it.
    private let alert: TLSAlertRecorder.Note?

    private struct Progress {
        var facts = HopDiagnostics()
        var stage = TunnelStage.connecting
        /// What ended it, where that is known better than by NIO's error.
        var failure: TunnelError?
        var isAtProxy = false
        var timedOut = false
        var cancelled = false
        /// All that were begun, of which the last goes on.
        var channels: [any Channel] = []
        var resolver: RelayResolver?

        /// Ends everything that is under way.
        func end() {
            resolver?.cancel()
            for channel in channels { channel.close(promise: nil) }
        }
    }

    private let progress = Locked(Progress())

    init(
        _ hop: Hop,
        _ location: RelayEndpoint,
        _ path: TunnelPath,
        _ bearerToken: BearerToken?,
        _ tls: NIOSSLContext,
        alert: TLSAlertRecorder.Note? = nil
    ) {
        self.hop = hop
        self.location = location
        self.path = path
        self.bearerToken = bearerToken
        self.tls = tls
        self.alert = alert
    }

    /// What the host is called in errors.
    private var name: String { location.name(of: hop.host) }

    /// What was learnt so far.
    var facts: HopDiagnostics { progress.withLock { $0.facts } }

    /// - Throws: ``TunnelError``, ``Redirect``, `CancellationError`.
    func open() async throws -> OpenedTunnel {
        let proxy = try location.proxies.proxy(for: hop.host, port: RelayEndpoint.port)
        progress.withLock { progress in
            progress.facts.proxy = proxy?.description
            progress.isAtProxy = proxy != nil
        }
        do {
            return try await open(by: proxy)
        } catch let error as TunnelError
            where error == .certificateExpired(host: name)
            || error == .certificateNotYetValid(host: name)
        {
            throw try await secondLook(error)
        }
    }

    /// Whether a certificate outside its dates would be trusted inside them: who has issued it goes before.
    ///
    /// The alert that says so can be read below TLS 1.3 only, so the relay is asked for its certificate once more.
    /// One that speaks nothing older gets the answer by the dates.
    private func secondLook(_ first: TunnelError) async throws -> TunnelError {
        guard alert == nil else { return first }
        let legible = try TunnelTLS.context(trustedCertificates: location.trustedCertificates, isLegible: true)
        let alert = TLSAlertRecorder.Note(nil)
        let again = HopConnector(hop, location, path, nil, legible, alert: alert)
        do {
            try await again.open().channel.close(promise: nil)
            return first
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            guard let alert = alert.withLock({ $0 }), alert != TLSAlertRecorder.certificateExpired,
                error as? TunnelError == first, let certificate = again.facts.certificate
            else { return first }
            return TunnelTLS.unknownIssuer(certificate, host: name)
        }
    }

    private func open(by proxy: HTTPProxy?) async throws -> OpenedTunnel {
        try await withTaskCancellationHandler {
            do {
                let upgrade = try await connect(by: proxy)
                // From here on the channel is the caller's to close, also if the task was cancelled meanwhile.
                return try await upgrade.get()
            } catch {
                progress.withLock { $0 }.end()
                try Task.checkCancellation()
                if let redirect = error as? Redirect { throw redirect }
                throw explained(error)
            }
        } onCancel: {
            let progress = progress.withLock { progress in
                progress.cancelled = true
                return progress
            }
            progress.end()
        }
    }

    private func connect(by proxy: HTTPProxy?) async throws -> EventLoopFuture<OpenedTunnel> {
        let target = location.target(of: hop.host)
        let isFree = hop.mayBeLocal || target.isChosen || proxy != nil
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let resolver = RelayResolver(location.lookup, on: loop) { address in
            isFree || address.isGlobal
        } found: { [progress] addresses in
            progress.withLock { $0.facts.addresses = addresses }
        }
        let cancelled = progress.withLock { progress in
            progress.resolver = resolver
            return progress.cancelled
        }
        if cancelled { throw CancellationError() }
        // Behind a name NIO tries IPv6 and IPv4 next to each other (RFC 8305).
        return try await ClientBootstrap(group: loop)
            .resolver(resolver)
            .connectTimeout(.seconds(Int64(location.timeouts.connect)))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // So that an answer is read to its end; OpeningObserver closes instead.
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: proxy?.host ?? target.host, port: proxy?.port ?? target.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let cancelled = progress.withLock { progress in
                        progress.channels.append(channel)
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
        _ target: RelayEndpoint.Target
    ) throws -> EventLoopFuture<OpenedTunnel> {
        let pipeline = channel.pipeline.syncOperations
        if let proxy { try pipeline.addHandler(connectHandler(proxy, target)) }
        if let alert { try pipeline.addHandler(TLSAlertRecorder(alert)) }
        let secure = try NIOSSLClientHandler(context: tls, serverHostname: hop.host)
        try pipeline.addHandler(secure)
        let observer = OpeningObserver(
            progress: { [progress] stage in
                let cancelled = progress.withLock { progress in
                    progress.stage = stage
                    progress.facts.peer = channel.remoteAddress.flatMap(NetworkAddress.init)
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
            progress.withLock { $0.facts.answer = head }
        } opened: { channel, routingID in
            // A tunnel has no half that could stay open. NIOSSL, which is told that one may, would let five seconds pass
            // at the end if the relay's goodbye and the end of its input come in one piece.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
            return OpenedTunnel(channel: channel, traffic: try MessageHandler.add(to: channel), routingID: routingID)
        }
        let deadline = channel.eventLoop.scheduleTask(
            in: .seconds(Int64(location.timeouts.connect + location.timeouts.open))
        ) { [progress] in
            progress.withLock { $0.timedOut = true }
            channel.close(promise: nil)
        }
        result.whenComplete { _ in deadline.cancel() }
        result.whenFailure { _ in channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in deadline.cancel() }
        return result
    }

    private func connectHandler(_ proxy: HTTPProxy, _ target: RelayEndpoint.Target) -> ProxyConnectHandler {
        ProxyConnectHandler(proxy: proxy, host: target.host, port: target.port) { [progress] in
            progress.withLock { $0.isAtProxy = false }
        } failed: { [progress] error in
            progress.withLock { progress in
                // A connection that is closed here because its time is up says the same as one that the proxy closes.
                guard !progress.timedOut, !progress.cancelled else { return }
                progress.failure = progress.failure ?? error
            }
        }
    }

    private func note(_ secure: NIOSSLHandler) {
        let certificate = secure.peerCertificate.map(PresentedCertificate.init)
        progress.withLock { $0.facts.certificate = certificate }
    }

    private func explained(_ error: any Error) -> TunnelError {
        let progress = progress.withLock { $0 }
        if let failure = progress.failure { return failure }
        if let proxy = progress.facts.proxy, progress.isAtProxy {
            return ConnectFailure.atProxy(error, proxy, timedOut: progress.timedOut)
        }
        let host = name
        if progress.timedOut { return .timedOut(host: host, progress.stage) }
        if case TunnelError.hungUp(_, let stage) = error { return .hungUp(host: host, stage) }
        if let error = error as? TunnelError { return error }
        if let error = TunnelTLS.failure(error, host: host, certificate: progress.facts.certificate) { return error }
        if let error = error as? NIOConnectionError {
            if error.dnsAError is RelayResolver.NothingPermitted || error.dnsAAAAError is RelayResolver.NothingPermitted
            {
                return .redirectRefused(host: hop.host, .local)
            }
            return ConnectFailure.explained(error, host: host)
        }
        if let error = error as? ChannelError, case .connectTimeout = error {
            return .timedOut(host: host, .connecting)
        }
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
