// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads
public import Logging
public import NIOCore
internal import NIOHTTP1
public import NIOPosix

/// An HTTP server for operators and their tools, on a separate port and without TLS.
///
/// It serves `/metrics`, `/healthz` and `/readyz`. They show the relay's metrics and state, and nothing about users: no
/// address, ID, host or token. `/readyz` answers 200 while the relay accepts new tunnels, 404 while it drains, and 503
/// otherwise. On 404, a load balancer sends new tunnels to another relay, but still sends clients to the phones that
/// wait at this one. `/healthz` answers 200 unless the relay is broken.
///
/// A website could let its own name point at this server, and then read the responses in the browsers of visitors (DNS
/// rebinding). So requests for a name that is neither `localhost` nor configured are answered 421.
public final class AdminServer: Sendable {
    /// Maximum number of open connections.
    private static let maximumConnections = 64

    private let address: SocketAddress
    private let responder: AdminResponder
    private let logger: Logger
    private let group: any EventLoopGroup
    private let listener = Locked<(any Channel)?>(nil)

    /// Creates an admin server that does not listen yet.
    ///
    /// - Parameters:
    ///   - address: The address to listen on.
    ///   - logger: Logs failures of the server.
    ///   - hosts: Host names in lower case under which the server may be requested, besides `localhost`.
    ///   - group: The event loops for connections.
    ///   - health: Returns the state of the relay; called for each request.
    ///   - metrics: Returns the text of `/metrics`; called for each request.
    public init(
        address: SocketAddress,
        logger: Logger,
        hosts: [String] = [],
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        health: @escaping @Sendable () -> RelayHealth,
        metrics: @escaping @Sendable () -> String
    ) {
        self.address = address
        self.logger = logger
        self.group = group
        responder = AdminResponder(hosts: Set(hosts), health: health, metrics: metrics)
    }

    /// Starts listening and returns the address, with the actual port if 0 was given.
    ///
    /// - Throws: ``ListenError``.
    public func start() async throws -> SocketAddress {
        let (responder, logger, open) = (responder, logger, Locked(0))
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { listener in
                listener.eventLoop.makeCompletedFuture {
                    try listener.pipeline.syncOperations.addHandler(AcceptBackoff(logger: logger))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let isTooMany = open.withLock { open in
                        open += 1
                        return open > Self.maximumConnections
                    }
                    channel.closeFuture.whenComplete { _ in open.withLock { $0 -= 1 } }
                    guard !isTooMany else {
                        channel.close(promise: nil)
                        return
                    }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(AdminHandler(responder))
                }
            }
        let channel: any Channel
        do {
            channel = try await bootstrap.bind(to: address).get()
        } catch {
            throw ListenError(address, error)
        }
        listener.withLock { $0 = channel }
        let bound = channel.localAddress ?? address
        logger.info("admin listening on \(bound.hostAndPort)")
        return bound
    }

    /// Stops listening.
    public func shutdown() async {
        let channel = listener.withLock { listener in
            defer { listener = nil }
            return listener
        }
        try? await channel?.close().get()
    }
}
