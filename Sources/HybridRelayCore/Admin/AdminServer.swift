// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads
public import Logging
public import NIOCore
internal import NIOHTTP1
public import NIOPosix

/// What operators and their tools ask: `/metrics`, `/healthz` and `/readyz`, on a port that is not the public one.
///
/// Speaks HTTP without TLS. It shows numbers and the state of the relay, and nothing of anybody: no address, no ID, no
/// host, no token. `/readyz` answers 200 while new tunnels are taken, 404 while the relay drains (a balancer then
/// sends new ones elsewhere and goes on sending clients to phones that wait here), 503 otherwise; `/healthz` answers
/// 200 unless the relay is broken.
public final class AdminServer: Sendable {
    /// Answers in parallel that are worth the memory.
    private static let maximumConnections = 64

    private let address: SocketAddress
    private let answers: AdminAnswers
    private let logger: Logger
    private let group: any EventLoopGroup
    private let listener = Locked<(any Channel)?>(nil)

    /// An admin server that does not listen yet.
    ///
    /// - Parameters:
    ///   - health: asked at each request.
    ///   - metrics: the text of `/metrics`, made at each request.
    public init(
        address: SocketAddress,
        logger: Logger,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        health: @escaping @Sendable () -> RelayHealth,
        metrics: @escaping @Sendable () -> String
    ) {
        self.address = address
        self.logger = logger
        self.group = group
        answers = AdminAnswers(health: health, metrics: metrics)
    }

    /// Listens and returns the address, with the real port where 0 was asked for.
    ///
    /// - Throws: ``ListenError``.
    public func start() async throws -> SocketAddress {
        let (answers, open) = (answers, Locked(0))
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
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
                    try channel.pipeline.syncOperations.addHandler(AdminHandler(answers))
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
