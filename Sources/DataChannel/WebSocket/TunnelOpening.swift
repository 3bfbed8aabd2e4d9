// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import NIOTLS

/// A tunnel that the relay has accepted.
struct OpenedTunnel: Sendable {
    let channel: any Channel
    /// What comes in, and whether more may be sent.
    let traffic: TunnelTraffic
    /// The routing ID, if the path was `new`.
    let routingID: RoutingID?
}

/// From nothing to an accepted WebSocket: name, TCP, TLS, request, answer; each step bounded in time.
struct TunnelOpening: Sendable {
    let location: RelayLocation
    let path: TunnelPath
    let bearerToken: BearerToken?

    private struct Progress {
        var stage = TunnelStage.connecting
        var timedOut = false
        var cancelled = false
        var channel: (any Channel)?
    }

    private let progress = NIOLockedValueBox(Progress())

    init(location: RelayLocation, path: TunnelPath, bearerToken: BearerToken?) {
        self.location = location
        self.path = path
        self.bearerToken = bearerToken
    }

    func open() async throws -> OpenedTunnel {
        let tls = try TunnelTLS.context(trustedCertificates: location.trustedCertificates)
        return try await withTaskCancellationHandler {
            do {
                let upgrade = try await connect(tls)
                // From here on the channel is the caller's to close, also if the task was cancelled meanwhile.
                return try await upgrade.get()
            } catch {
                progress.withLockedValue { $0.channel }?.close(promise: nil)
                try Task.checkCancellation()
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

    private func connect(_ tls: NIOSSLContext) async throws -> EventLoopFuture<OpenedTunnel> {
        let target = location.target
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(Int64(location.timeouts.connect)))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // So that an answer is read to its end; OpeningObserver closes instead.
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: target.host, port: target.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let cancelled = progress.withLockedValue { progress in
                        progress.channel = channel
                        return progress.cancelled
                    }
                    // Cancelled before there was a channel that could be closed.
                    if cancelled { throw CancellationError() }
                    return try configure(channel, tls)
                }
            }
    }

    private func configure(_ channel: any Channel, _ tls: NIOSSLContext) throws -> EventLoopFuture<OpenedTunnel> {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: location.domain.host))
        let observer = OpeningObserver(progress: { stage in progress.withLockedValue { $0.stage = stage } })
        try pipeline.addHandler(observer)
        let upgrade = WebSocketUpgrade(host: location.domain.host, path: path, bearerToken: bearerToken)
        let result = try upgrade.start(on: channel) { channel, routingID in
            // A tunnel has no half that could stay open. NIOSSL, which is told that one may, would let five seconds pass
            // at the end if the relay's goodbye and the end of its input come in one piece.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
            return OpenedTunnel(channel: channel, traffic: try MessageHandler.add(to: channel), routingID: routingID)
        }
        let deadline = channel.eventLoop.scheduleTask(
            in: .seconds(Int64(location.timeouts.connect + location.timeouts.open))
        ) {
            progress.withLockedValue { $0.timedOut = true }
            channel.close(promise: nil)
        }
        result.whenComplete { _ in deadline.cancel() }
        channel.closeFuture.whenComplete { _ in deadline.cancel() }
        return result
    }

    private func explained(_ error: any Error) -> TunnelError {
        let (stage, timedOut) = progress.withLockedValue { ($0.stage, $0.timedOut) }
        let host = location.target.host
        if timedOut { return .timedOut(stage) }
        if let error = error as? TunnelError { return error }
        if let error = TunnelTLS.failure(error, host: location.domain.host) { return error }
        if let error = error as? NIOConnectionError { return ConnectFailure.explained(error, host: host) }
        if let error = error as? ChannelError, case .connectTimeout = error { return .timedOut(.connecting) }
        // An answer 101 whose other fields are wrong.
        if error is NIOHTTPClientUpgradeError { return .relayMisbehaved("its WebSocket handshake is not valid") }
        if case HTTPParserError.invalidEOFState = error { return .connectionLost }
        if error is HTTPParserError || error is NIOHTTPDecoderError {
            return .relayMisbehaved("it does not speak HTTP")
        }
        if let error = error as? IOError {
            return error.errnoCode == ECONNRESET || error.errnoCode == EPIPE
                ? .connectionLost : .unreachable(host: host, reason: "\(error)")
        }
        return .connectionLost
    }
}
