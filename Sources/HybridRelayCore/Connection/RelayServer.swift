// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridThreads
public import Logging
public import NIOCore
public import NIOPosix

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
/// The parts, along a request's way: `ConnectionSetup` and ``ProxyHeaderReader`` (where does the connection come from?),
/// ``RequestHeadReader`` and ``UpgradeRequest`` (is it a request for a tunnel?), `AdmissionControl` with ``SourceTable`` and
/// ``NewTokens`` (may it have one?), ``TunnelTable`` (which tunnels there are), ``FrameReader`` (are these a client's
/// frames?), `TunnelHandler` (one connection), `ConnectionTimers` (one timer per event loop). Readers, tables and tokens
/// are pure. ``AdminServer`` tells operators how the relay is.
///
/// A relay that is to go down is drained: no tunnel can be opened any more, those that wait can be joined, and when the
/// last has ended, or the time is up, it stops.
/// Nobody is trusted: every length, number and time is bounded by ``RelayLimits``.
/// Source: CTAP 2.2 §11.5; the paths of phones are the convention of the services in use.
public final class RelayServer: Sendable {
    private struct Running: Sendable {
        var stage = RelayHealth.starting
        var listeners: [any Channel] = []
        var watches: [NIOLoopBound<ConnectionTimers>] = []
        var sweeps: [RepeatedTask] = []
        /// When each event loop last looked at its connections.
        var beats: [Locked<NIODeadline>] = []
    }

    /// Waiting connections that the kernel keeps for a listener.
    private static let backlog: Int32 = 4096
    /// What the kernel keeps of one connection in each direction, in bytes.
    ///
    /// By itself it keeps megabytes for one that is not read; and all it has got is read at once when that end hangs up.
    private static let kernelBuffer: ChannelOptions.Types.SocketOption.Value = 192 << 10
    /// How late an event loop may be before the relay counts as broken.
    private static let patience = TimeAmount.seconds(10)

    private let configuration: RelayConfiguration
    private let logger: Logger
    private let group: any EventLoopGroup
    private let registry: TunnelRegistry
    private let transport: Locked<RelayTransport>
    private let running = Locked(Running())

    /// A relay that does not listen yet.
    public init(
        configuration: RelayConfiguration,
        logger: Logger,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.configuration = configuration
        self.logger = logger
        self.group = group
        transport = Locked(configuration.transport)
        registry = TunnelRegistry(
            node: configuration.node,
            limits: configuration.limits,
            logger: logger,
            doorkeeper: AdmissionControl(
                limits: configuration.limits,
                tokens: configuration.tokens,
                checksOrigin: configuration.checksOrigin
            )
        )
    }

    // MARK: Begin

    /// Listens and returns the addresses, with the real port where 0 was asked for.
    ///
    /// To be called once.
    ///
    /// - Throws: ``ListenError`` for the first address that could not be bound; none is listened on then.
    public func start() async throws -> [SocketAddress] {
        var watches: [ObjectIdentifier: NIOLoopBound<ConnectionTimers>] = [:]
        for eventLoop in group.makeIterator() {
            let beat = Locked(NIODeadline.now())
            let watch = try await eventLoop.submit { [registry] in
                let watch = ConnectionTimers(registry: registry, eventLoop: eventLoop, beat: beat)
                return NIOLoopBound(watch, eventLoop: eventLoop)
            }.get()
            watches[ObjectIdentifier(eventLoop)] = watch
            let interval = configuration.limits.sweepInterval
            let sweep = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
                watch.value.sweep()
            }
            running.withLock {
                $0.watches.append(watch)
                $0.sweeps.append(sweep)
                $0.beats.append(beat)
            }
        }
        do {
            let addresses = try await listen(watches)
            running.withLock { $0.stage = .ready }
            return addresses
        } catch {
            await shutdown()
            throw error
        }
    }

    private func listen(_ watches: [ObjectIdentifier: NIOLoopBound<ConnectionTimers>]) async throws -> [SocketAddress] {
        let bootstrap = bootstrap(watches)
        var addresses: [SocketAddress] = []
        for socket in configuration.inherited {
            addresses += try await listening(bootstrap.withBoundSocket(socket).get())
            // NIO has listened with a shorter queue before it looked at the option.
            guard Glibc.listen(socket, Self.backlog) == 0 else { throw IOError(errnoCode: errno, reason: "listen") }
        }
        for address in configuration.listen {
            do {
                addresses += try await listening(alone(address, bootstrap).bind(to: address).get())
            } catch {
                throw ListenError(address, error)
            }
        }
        return addresses
    }

    /// Leaves IPv4 to the IPv4 address where both are given for one port; by itself an IPv6 address may serve both.
    private func alone(_ address: SocketAddress, _ bootstrap: ServerBootstrap) -> ServerBootstrap {
        let isShared = configuration.listen.contains { $0.protocol == .inet && $0.port == address.port }
        guard address.protocol == .inet6, isShared else { return bootstrap }
        return bootstrap.serverChannelOption(
            ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_v6only),
            value: 1
        )
    }

    private func listening(_ listener: any Channel) -> [SocketAddress] {
        running.withLock { $0.listeners.append(listener) }
        guard let address = listener.localAddress else { return [] }
        logger.info("listening on \(address.hostAndPort)")
        return [address]
    }

    private func bootstrap(_ watches: [ObjectIdentifier: NIOLoopBound<ConnectionTimers>]) -> ServerBootstrap {
        let (registry, transport, configuration, logger) = (registry, transport, configuration, logger)
        // Options of TCP stand on the listener because accepted sockets inherit them on Linux: one option set on
        // every connection costs more than the whole upgrade.
        return ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .serverChannelOption(.socketOption(.so_rcvbuf), value: Self.kernelBuffer)
            .serverChannelOption(.socketOption(.so_sndbuf), value: Self.kernelBuffer)
            .serverChannelInitializer { listener in
                listener.eventLoop.makeCompletedFuture {
                    try listener.pipeline.syncOperations.addHandler(AcceptBackoff(logger: logger))
                }
            }
            .childChannelInitializer { channel in
                guard let watch = watches[ObjectIdentifier(channel.eventLoop)] else {
                    return channel.eventLoop.makeFailedFuture(ChannelError.eof)
                }
                let entrance = ConnectionSetup(
                    registry: registry,
                    watch: watch.value,
                    transport: transport.withLock { $0 },
                    countsSources: configuration.countsSources
                )
                let peer = channel.remoteAddress
                do {
                    if let peer, configuration.balancers.contains(where: { $0.contains(peer) }) {
                        try channel.pipeline.syncOperations.addHandler(ProxyHandler(entrance))
                    } else {
                        try entrance.open(channel, from: peer)
                    }
                } catch {
                    return channel.eventLoop.makeFailedFuture(error)
                }
                // This one is not made anew for each connection.
                return channel.eventLoop.makeSucceededVoidFuture()
            }
    }

    // MARK: Change

    /// Takes a new certificate, or anything else of TLS; connections that are there keep what they have.
    public func replace(transport: RelayTransport) { self.transport.withLock { $0 = transport } }

    /// Takes other tokens; tunnels that are there stay.
    public func replace(tokens: NewTokens?) { registry.doorkeeper.replace(tokens: tokens) }

    /// Takes other limits: times and numbers at once, what one connection may from the next connection on.
    public func replace(limits: RelayLimits) { registry.replace(limits: limits) }

    /// How the relay is; broken if an event loop has not come round for so long that a service manager should know.
    public var health: RelayHealth {
        let (stage, beats) = running.withLock { ($0.stage, $0.beats) }
        guard stage == .ready || stage == .draining else { return stage }
        let latest = NIODeadline.now() - configuration.limits.sweepInterval - Self.patience
        return beats.allSatisfy { $0.withLock { $0 } > latest } ? stage : .broken
    }

    /// Connections there are, also such as have not asked for anything yet.
    public var connections: Int { registry.doorkeeper.connections }

    /// Connections there have ever been; those that were hung up on at once are not counted.
    public var arrivals: Int { registry.doorkeeper.arrivals }

    // MARK: End

    /// Lets no new tunnel be opened and waits until all there are have ended, `grace` at most; then shuts down.
    ///
    /// Meanwhile the relay goes on listening, so that clients still reach phones that wait.
    public func drain(grace: TimeAmount) async {
        // Who is told that the relay drains must not be able to open a tunnel any more.
        registry.drain()
        let isFirst = running.withLock { state in
            defer { if state.stage == .ready { state.stage = .draining } }
            return state.stage == .ready
        }
        if isFirst { logger.info("draining") }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.registry.waitUntilEmpty()
                await self.waitForRequests()
            }
            group.addTask { try? await Task.sleep(for: .nanoseconds(grace.nanoseconds)) }
            await group.next()
            group.cancelAll()
        }
        await shutdown()
    }

    /// Lets connections that are about to ask hear why they get nothing, as long as a request may take.
    ///
    /// A balancer sends somebody who was refused elsewhere, but not somebody who was hung up on.
    private func waitForRequests() async {
        let latest = NIODeadline.now() + registry.limits.headTime
        while connections > 0, .now() < latest, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Stops listening, closes every tunnel with 1001 and waits until all connections are closed.
    ///
    /// Takes `limits.shutdownGrace` at most, a little more under load. May be called again.
    public func shutdown() async {
        let (listeners, watches, sweeps) = running.withLock { state in
            defer { (state.listeners, state.stage) = ([], .stopped) }
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
    var hostAndPort: String {
        let host = ipAddress ?? "?"
        return host.contains(":") ? "[\(host)]:\(port ?? 0)" : "\(host):\(port ?? 0)"
    }
}
