// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridThreads
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// One request on the way to a tunnel, to the relay or to a host that it redirects to.
struct Hop: Sendable {
    /// The host's name, in lower case.
    let host: String
    /// Path and query of the request.
    let path: String
    /// True if the host may be in this computer's own network, which is allowed for a relay that the user named.
    let mayBeLocal: Bool
}

/// Facts learned about a hop, even if the attempt failed.
struct HopDiagnostics: Sendable {
    /// Host and port of the proxy, if there is one.
    var proxy: String?
    /// Addresses of the host, or of the proxy.
    var addresses: [SocketAddress] = []
    /// Remote address of the connection.
    var peer: IPAddress?
    /// The certificate presented in the TLS handshake.
    var certificate: PresentedCertificate?
    /// The HTTP response, without a body.
    var answer: HTTPResponseHead?
}

/// An attempt to open a WebSocket at one host: proxy, name resolution, TCP, TLS, request and response, with time
/// limits.
struct HopConnector: Sendable {
    let hop: Hop
    let relay: RelayEndpoint
    let path: TunnelPath
    var payload: ClientPayload?
    let bearerToken: BearerToken?
    let tls: ClientTLS
    /// False to send no early data, although the request permits it.
    var sendsEarlyData = true

    private struct Progress {
        var diagnostics = HopDiagnostics()
        var stage = NetworkError.Stage.connecting
        /// The cause of the failure, if it is more precise than NIO's error.
        var failure: NetworkError?
        var isAtProxy = false
        var hasOfferedEarlyData = false
        var timedOut = false
        var canceled = false
        /// All channels that were created; at most one of them is used.
        var channels: [any Channel] = []
        var resolver: AddressResolver?

        /// Ends everything in progress.
        func end() {
            resolver?.cancel()
            for channel in channels { channel.close(promise: nil) }
        }
    }

    private let progress = Locked(Progress())

    /// The host's name in error messages.
    private var name: String { relay.displayName(of: hop.host) }

    /// Facts learned so far.
    var diagnostics: HopDiagnostics { progress.withLock { $0.diagnostics } }

    /// Opens the WebSocket.
    ///
    /// - Throws: `NetworkError`, ``TunnelError``, `Redirect`, `CancellationError`. `TLSFailure.earlyData` means that the request
    ///   may succeed without early data.
    func open() async throws -> WebSocketTunnel {
        let proxy = try relay.network.proxies.proxy(for: hop.host, port: RelayEndpoint.port)
        progress.withLock { progress in
            progress.diagnostics.proxy = proxy?.description
            progress.isAtProxy = proxy != nil
        }
        return try await open(by: proxy)
    }

    private func open(by proxy: HTTPProxy?) async throws -> WebSocketTunnel {
        try await withTaskCancellationHandler {
            do {
                let upgrade = try await connect(by: proxy)
                // From here on the caller closes the channel, even if the task was canceled meanwhile.
                return try await upgrade.get()
            } catch {
                progress.withLock { $0 }.end()
                try Task.checkCancellation()
                if let redirect = error as? Redirect { throw redirect }
                if isDueToEarlyData(error) { throw TLSFailure.earlyData }
                throw explained(error)
            }
        } onCancel: {
            let progress = progress.withLock { progress in
                progress.canceled = true
                return progress
            }
            progress.end()
        }
    }

    private func connect(by proxy: HTTPProxy?) async throws -> EventLoopFuture<WebSocketTunnel> {
        let target = relay.target(of: hop.host)
        let isFree = hop.mayBeLocal || target.isOverridden || proxy != nil
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let resolver = AddressResolver(relay.network.lookup, on: loop, threads: relay.network.lookupThreads) {
            address in
            isFree || address.isGlobal
        } found: { [progress] addresses in
            progress.withLock { $0.diagnostics.addresses = addresses }
        }
        let canceled = progress.withLock { progress in
            progress.resolver = resolver
            return progress.canceled
        }
        if canceled { throw CancellationError() }
        // NIO races IPv6 and IPv4 addresses of a name (RFC 8305).
        return try await ClientBootstrap(group: loop)
            .resolver(resolver)
            .connectTimeout(.seconds(Int64(relay.network.timeouts.connect)))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // Lets a response be read to its end; OpeningObserver closes the channel instead.
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: proxy?.host ?? target.host, port: proxy?.port ?? target.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let canceled = progress.withLock { progress in
                        progress.channels.append(channel)
                        return progress.canceled
                    }
                    // The cancellation handler ran before there was a channel to close.
                    if canceled { throw CancellationError() }
                    return try configure(channel, by: proxy, target)
                }
            }
    }

    private func configure(
        _ channel: any Channel,
        by proxy: HTTPProxy?,
        _ target: RelayEndpoint.Target
    ) throws -> EventLoopFuture<WebSocketTunnel> {
        let pipeline = channel.pipeline.syncOperations
        if let proxy { try pipeline.addHandler(connectHandler(proxy, target)) }
        let secure = tls.handler(
            for: hop.host,
            sessions: relay.network.sessions,
            sendsEarlyData: sendsEarlyData && path.permitsEarlyData
        )
        try pipeline.addHandler(secure)
        let observer = OpeningObserver(
            progress: { [progress] stage in
                let canceled = progress.withLock { progress in
                    progress.stage = stage
                    progress.diagnostics.peer = channel.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
                    return progress.canceled
                }
                if canceled { channel.close(promise: nil) }
                if stage == .upgrading { record(secure) }
            },
            failing: { record(secure) }
        )
        try pipeline.addHandlers([observer, HeadLimiter()])
        let upgrade = WebSocketUpgrade(
            host: hop.host,
            displayName: name,
            uri: hop.path,
            path: path,
            payload: payload,
            bearerToken: bearerToken
        )
        let result = try upgrade.start(on: channel) { [progress] head in
            progress.withLock { $0.diagnostics.answer = head }
        } opened: { [path] channel, acceptance in
            // An open tunnel needs no half-closure.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
            return WebSocketTunnel(
                channel: channel,
                traffic: try MessageHandler.add(to: channel, path),
                acceptance: acceptance
            )
        }
        let timeouts = relay.network.timeouts
        let deadline = channel.eventLoop.scheduleTask(in: .seconds(Int64(timeouts.connect + timeouts.open))) {
            [progress] in
            progress.withLock { $0.timedOut = true }
            channel.close(promise: nil)
        }
        result.whenComplete { _ in deadline.cancel() }
        result.whenFailure { _ in channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in deadline.cancel() }
        return result
    }

    private func connectHandler(_ proxy: HTTPProxy, _ target: RelayEndpoint.Target) -> any ChannelHandler {
        proxy.connectHandler(to: target.host, port: target.port) { [progress] result in
            progress.withLock { progress in
                switch result {
                case .success: progress.isAtProxy = false
                // After a timeout or a cancellation, this end closed the connection, not the proxy.
                case .failure where progress.timedOut || progress.canceled: break
                case .failure(let error): progress.failure = progress.failure ?? error
                }
            }
        }
    }

    private func record(_ secure: TLSClientHandler) {
        let certificate = secure.certificate.map(PresentedCertificate.init)
        let hasOfferedEarlyData = secure.hasOfferedEarlyData
        progress.withLock { progress in
            progress.diagnostics.certificate = certificate
            progress.hasOfferedEarlyData = hasOfferedEarlyData
        }
    }

    /// Returns true if the request may succeed without early data (RFC 8446 §D.3, RFC 8470 §5.2).
    private func isDueToEarlyData(_ error: any Error) -> Bool {
        if case TLSFailure.earlyData = error { return true }
        guard let error = error as? TunnelError, error == TunnelError.refusal(status: 425) else { return false }
        return progress.withLock { $0.hasOfferedEarlyData }
    }

    /// Returns the cause: a `NetworkError`, or a ``TunnelError`` if the relay has answered.
    private func explained(_ error: any Error) -> any Error {
        let progress = progress.withLock { $0 }
        if let failure = progress.failure { return failure }
        if let proxy = progress.diagnostics.proxy, progress.isAtProxy {
            if progress.timedOut { return NetworkError.proxySilent(proxy) }
            return Self.connectFailure(error, host: proxy, isProxy: true) ?? .proxyDisconnected(proxy)
        }
        let host = name
        if progress.timedOut { return NetworkError.timedOut(host: host, progress.stage) }
        if let error = error as? TunnelError { return error }
        if let error = ClientTLS.failure(error, host: host, certificate: progress.diagnostics.certificate) {
            return error
        }
        if let error = error as? NIOConnectionError,
            error.dnsAError is AddressResolver.NothingPermitted
                || error.dnsAAAAError is AddressResolver.NothingPermitted
        {
            return NetworkError.redirectRefused(host: hop.host, .local)
        }
        if let failure = Self.connectFailure(error, host: host, isProxy: false) { return failure }
        // A 101 response with invalid header fields.
        if error is NIOHTTPClientUpgradeError {
            return TunnelError.relayMisbehaved("its WebSocket handshake is not valid")
        }
        if case HTTPParserError.invalidEOFState = error {
            return NetworkError.disconnected(host: host, progress.stage)
        }
        if let error = error as? MalformedResponse { return TunnelError.relayMisbehaved(error.complaint) }
        if error is HTTPParserError || error is NIOHTTPDecoderError {
            return TunnelError.relayMisbehaved("it does not speak HTTP")
        }
        if let error = error as? IOError, error.errnoCode != ECONNRESET, error.errnoCode != EPIPE {
            return NetworkError.unreachable(host: host, reason: String(cString: strerror(error.errnoCode)))
        }
        return NetworkError.disconnected(host: host, progress.stage)
    }

    /// Returns the reason why no TCP connection could be made; `nil` for other errors.
    private static func connectFailure(_ error: any Error, host: String, isProxy: Bool) -> NetworkError? {
        let timedOut = isProxy ? NetworkError.proxySilent(host) : .timedOut(host: host, .connecting)
        if case ChannelError.connectTimeout = error { return timedOut }
        guard let error = error as? NIOConnectionError else { return nil }
        let causes = error.connectionErrors.map(\.error)
        if causes.isEmpty { return isProxy ? .proxyNotFound(host) : .hostNotFound(host) }
        if causes.contains(where: { ($0 as? IOError)?.errnoCode == ECONNREFUSED }) {
            return isProxy ? .proxyConnectionRefused(host) : .connectionRefused(host)
        }
        if causes.contains(where: { if case ChannelError.connectTimeout = $0 { true } else { false } }) {
            return timedOut
        }
        let reason = (causes.first as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "no route"
        return isProxy ? .proxyUnreachable(proxy: host, reason: reason) : .unreachable(host: host, reason: reason)
    }
}

extension TunnelPath {
    /// True if a replay of the request is harmless (RFC 8470 §2), so that it can be sent as early data.
    ///
    /// The phone refuses a repeated contact. A repeated `connect` yields only messages that are encrypted for the phone.
    var permitsEarlyData: Bool {
        switch self {
        case .contact, .connect: true
        case .new, .listen: false
        }
    }
}
