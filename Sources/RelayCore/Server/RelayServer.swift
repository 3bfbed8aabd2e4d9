// SPDX-License-Identifier: Apache-2.0

public import Logging
internal import NIOConcurrencyHelpers
public import NIOCore
public import NIOPosix
internal import NIOSSL

/// The tunnel service of the hybrid transport: it brings a phone and a client together and passes their messages on.
///
/// 1. A phone asks for `/cable/new/{tunnel ID}`. The tunnel ID comes from the QR code it read, so only somebody
///    who saw that code can name the tunnel. It gets a routing ID and waits, two minutes at most.
/// 2. The phone puts the routing ID into its radio advert. The client that shows the QR code hears it and asks
///    for `/cable/connect/{routing ID}/{tunnel ID}`. Anybody else who asks gets a 404.
/// 3. From there on binary messages go to and fro, in order and with their boundaries. They are encrypted from
///    end to end; the relay learns their sizes and times, and no keys.
/// 4. When an end closes, vanishes or breaks a rule, or a limit is reached, both ends are told and the tunnel is
///    forgotten.
///
/// The parts, along a request's way: ``RequestHeadReader`` and ``UpgradeRequest`` (is it a request for a
/// tunnel?), ``TunnelTable`` (which tunnels there are), ``FrameReader`` (are these a client's frames?),
/// `TunnelHandler` (one connection), `ConnectionWatch` (one timer per event loop). The first four are pure.
/// Nobody is trusted: every length, number and time is bounded by ``RelayLimits``.
/// Source: CTAP 2.2 §11.5; the paths of phones are the convention of the services in use.
public final class RelayServer: Sendable {
    private struct Running: Sendable {
        var listeners: [any Channel] = []
        var watches: [NIOLoopBound<ConnectionWatch>] = []
        var sweeps: [RepeatedTask] = []
    }

    /// Waiting connections that the kernel keeps for a listener.
    private static let backlog: Int32 = 4096

    private let configuration: RelayConfiguration
    private let logger: Logger
    private let group: any EventLoopGroup
    private let registry: TunnelRegistry
    private let running = NIOLockedValueBox(Running())

    /// A relay that does not listen yet.
    public init(
        configuration: RelayConfiguration,
        logger: Logger,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.configuration = configuration
        self.logger = logger
        self.group = group
        registry = TunnelRegistry(node: configuration.node, limits: configuration.limits, logger: logger)
    }

    /// Listens and returns the addresses, with the real port where 0 was asked for.
    ///
    /// To be called once.
    ///
    /// - Throws: the first address's error that could not be bound; none is listened on then.
    public func start() async throws -> [SocketAddress] {
        var watches: [ObjectIdentifier: NIOLoopBound<ConnectionWatch>] = [:]
        for eventLoop in group.makeIterator() {
            let watch = try await eventLoop.submit { [registry] in
                NIOLoopBound(ConnectionWatch(registry: registry, eventLoop: eventLoop), eventLoop: eventLoop)
            }.get()
            watches[ObjectIdentifier(eventLoop)] = watch
            let interval = configuration.limits.sweepInterval
            let sweep = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
                watch.value.sweep()
            }
            running.withLockedValue {
                $0.watches.append(watch)
                $0.sweeps.append(sweep)
            }
        }
        do {
            return try await listen(watches)
        } catch {
            await shutdown()
            throw error
        }
    }

    private func listen(_ watches: [ObjectIdentifier: NIOLoopBound<ConnectionWatch>]) async throws -> [SocketAddress] {
        let bootstrap = bootstrap(watches)
        var addresses: [SocketAddress] = []
        for address in configuration.listen {
            let listener = try await bootstrap.bind(to: address).get()
            running.withLockedValue { $0.listeners.append(listener) }
            let bound = listener.localAddress ?? address
            addresses.append(bound)
            logger.info("listening on \(bound.hostAndPort)")
        }
        return addresses
    }

    private func bootstrap(_ watches: [ObjectIdentifier: NIOLoopBound<ConnectionWatch>]) -> ServerBootstrap {
        let (registry, limits, transport) = (registry, configuration.limits, configuration.transport)
        // TCP_NODELAY stands on the listener because accepted sockets inherit it on Linux: one option set on
        // every connection costs more than the whole upgrade.
        return ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let watch = watches[ObjectIdentifier(channel.eventLoop)] else { throw ChannelError.eof }
                    if case .tls(let context) = transport {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    let handler = TunnelHandler(registry: registry, limits: limits, watch: watch.value)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
    }

    /// Stops listening, closes every tunnel with 1001 and waits until all connections are closed.
    ///
    /// Takes `limits.shutdownGrace` at most, a little more under load. May be called again.
    public func shutdown() async {
        let (listeners, watches, sweeps) = running.withLockedValue { state in
            defer { state.listeners = [] }
            return (state.listeners, state.watches, state.sweeps)
        }
        for listener in listeners { try? await listener.close().get() }
        let grace = configuration.limits.shutdownGrace
        let closed = watches.map { watch in
            watch.eventLoop.flatSubmit { watch.value.close(grace: grace) }
        }
        for future in closed { try? await future.get() }
        for sweep in sweeps { sweep.cancel() }
    }
}

extension SocketAddress {
    /// `HOST:PORT`, the host in brackets if it is an IPv6 address.
    fileprivate var hostAndPort: String {
        let host = ipAddress ?? "?"
        return host.contains(":") ? "[\(host)]:\(port ?? 0)" : "\(host):\(port ?? 0)"
    }
}
