// SPDX-License-Identifier: Apache-2.0

private import Glibc
public import HybridPrimitives
internal import HybridThreads
public import Logging
public import NIOCore
public import NIOPosix

/// The tunnel service of the hybrid transport: it connects a phone and a client and relays their messages.
///
/// 1. A phone requests `/cable/new/{tunnel ID}`. The tunnel ID is derived from the QR code, so only a party that saw
///    the code knows it. The phone receives a routing ID and waits for at most two minutes.
/// 2. The phone puts the routing ID into its Bluetooth advert. The client that shows the QR code receives the advert
///    and requests `/cable/connect/{routing ID}/{tunnel ID}`. If no tunnel with these IDs waits, it gets a 404.
/// 3. From then on, binary messages are relayed in both directions, in order and with their boundaries. They are
///    end-to-end encrypted; the relay learns their sizes and times, but no keys.
/// 4. When an end closes, disconnects or violates a rule, or a limit is reached, both ends are closed and the tunnel is
///    removed.
///
/// The parts, in the order of a request: `ConnectionSetup` and ``ProxyHeaderReader`` find the source of the connection.
/// ``RequestHeadReader`` and ``UpgradeRequest`` parse the request. `AdmissionControl` with ``SourceTable`` and
/// ``TunnelTokens`` admits it. ``TunnelTable`` holds the tunnels. ``FrameReader`` validates frames. `TunnelHandler`
/// handles one connection, and `ConnectionTimers` the deadlines of an event loop. Readers, tables and tokens do no
/// input or output. ``AdminServer`` reports the relay's state to operators.
///
/// Before a planned shutdown, the relay drains: no tunnel can be opened, but waiting tunnels can still be joined. It
/// stops when the last tunnel has ended or the grace period is over.
///
/// No peer is trusted: ``RelayLimits`` bounds every length, number and time.
///
/// Source: CTAP 2.2 §11.5. The path for phones follows the convention of existing tunnel services.
public final class RelayServer: Sendable {
    private struct Running: Sendable {
        var stage = RelayHealth.starting
        var listeners: [any Channel] = []
        var timers: [NIOLoopBound<ConnectionTimers>] = []
        var sweeps: [RepeatedTask] = []
        /// Time of the last sweep of each event loop.
        var lastSweeps: [Locked<NIODeadline>] = []
    }

    /// Length of the kernel's queue of connections that are not yet accepted.
    private static let backlog: Int32 = 4096
    /// Size of the kernel's buffer for one connection in each direction, in bytes.
    ///
    /// By default, the buffer holds megabytes if the connection is not read. All of it is read at once when the end
    /// closes.
    private static let kernelBuffer: ChannelOptions.Types.SocketOption.Value = 192 << 10
    /// Delay of an event loop's sweep after which the relay counts as broken.
    private static let longestSweepDelay = TimeAmount.seconds(10)

    private let configuration: RelayConfiguration
    private let logger: Logger
    private let group: any EventLoopGroup
    private let registry: TunnelRegistry
    private let admission: AdmissionControl
    private let transport: Locked<RelayTransport>
    private let running = Locked(Running())

    /// Creates a relay that does not listen yet.
    public init(
        configuration: RelayConfiguration,
        logger: Logger,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.configuration = configuration
        self.logger = logger
        self.group = group
        transport = Locked(configuration.transport)
        registry = TunnelRegistry(node: configuration.node, limits: configuration.limits, logger: logger)
        admission = AdmissionControl(
            limits: configuration.limits,
            tokens: configuration.tokens,
            checksOrigin: configuration.checksOrigin,
            logger: logger
        )
    }

    // MARK: Start

    /// Starts listening.
    ///
    /// Must be called only once.
    ///
    /// - Returns: The addresses, with the actual port where 0 was given.
    /// - Throws: ``ListenError`` for the first address that cannot be bound. In that case, the relay does not listen.
    public func start() async throws -> [SocketAddress] {
        var timers: [ObjectIdentifier: NIOLoopBound<ConnectionTimers>] = [:]
        for eventLoop in group.makeIterator() {
            let lastSweep = Locked(NIODeadline.now())
            let own = try await eventLoop.submit { [registry, admission] in
                NIOLoopBound(
                    ConnectionTimers(
                        registry: registry,
                        admission: admission,
                        eventLoop: eventLoop,
                        lastSweep: lastSweep
                    ),
                    eventLoop: eventLoop
                )
            }.get()
            timers[ObjectIdentifier(eventLoop)] = own
            let interval = configuration.limits.sweepInterval
            let sweep = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
                own.value.sweep()
            }
            running.withLock {
                $0.timers.append(own)
                $0.sweeps.append(sweep)
                $0.lastSweeps.append(lastSweep)
            }
        }
        do {
            let addresses = try await listen(timers)
            running.withLock { $0.stage = .ready }
            return addresses
        } catch {
            await shutdown()
            throw error
        }
    }

    private func listen(_ timers: [ObjectIdentifier: NIOLoopBound<ConnectionTimers>]) async throws -> [SocketAddress] {
        let bootstrap = bootstrap(timers)
        var addresses: [SocketAddress] = []
        for socket in configuration.inherited {
            addresses += try await add(bootstrap.withBoundSocket(socket).get())
            // NIO calls listen(2) with a shorter queue before it applies the option.
            guard Glibc.listen(socket, Self.backlog) == 0 else { throw IOError(errnoCode: errno, reason: "listen") }
        }
        for address in configuration.listen {
            do {
                addresses += try await add(separate(address, bootstrap).bind(to: address).get())
            } catch {
                throw ListenError(address, error)
            }
        }
        return addresses
    }

    /// Returns a bootstrap that restricts an IPv6 address to IPv6 if an IPv4 address has the same port.
    ///
    /// Without an IPv4 address, the IPv6 address may serve both protocols.
    private func separate(_ address: SocketAddress, _ bootstrap: ServerBootstrap) -> ServerBootstrap {
        let isShared = configuration.listen.contains { $0.protocol == .inet && $0.port == address.port }
        guard address.protocol == .inet6, isShared else { return bootstrap }
        return bootstrap.serverChannelOption(
            ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_v6only),
            value: 1
        )
    }

    private func add(_ listener: any Channel) -> [SocketAddress] {
        running.withLock { $0.listeners.append(listener) }
        guard let address = listener.localAddress else { return [] }
        logger.info("listening on \(address.hostAndPort)")
        return [address]
    }

    private func bootstrap(_ timers: [ObjectIdentifier: NIOLoopBound<ConnectionTimers>]) -> ServerBootstrap {
        let (registry, admission, transport) = (registry, admission, transport)
        let (configuration, logger) = (configuration, logger)
        // TCP options are set on the listener because accepted sockets inherit them on Linux. Setting one option on
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
                guard let own = timers[ObjectIdentifier(channel.eventLoop)] else {
                    return channel.eventLoop.makeFailedFuture(ChannelError.eof)
                }
                let setup = ConnectionSetup(
                    registry: registry,
                    admission: admission,
                    timers: own.value,
                    transport: transport.withLock { $0 },
                    countsSources: configuration.countsSources
                )
                let peer = channel.remoteAddress
                do {
                    if let peer, configuration.balancers.contains(where: { $0.contains(peer) }) {
                        try channel.pipeline.syncOperations.addHandler(ProxyHandler(setup))
                    } else {
                        try setup.open(channel, from: peer)
                    }
                } catch {
                    return channel.eventLoop.makeFailedFuture(error)
                }
                // This future is shared, not created for each connection.
                return channel.eventLoop.makeSucceededVoidFuture()
            }
    }

    // MARK: Changes

    /// Replaces the certificate or other TLS settings.
    ///
    /// Existing connections keep theirs.
    public func replace(transport: RelayTransport) { self.transport.withLock { $0 = transport } }

    /// Replaces the tokens.
    ///
    /// Existing tunnels stay open.
    public func replace(tokens: TunnelTokens?) { admission.replace(tokens: tokens) }

    /// Replaces the limits; those that concern a single connection apply only to new connections.
    public func replace(limits: RelayLimits) {
        registry.replace(limits: limits)
        admission.replace(limits: limits)
    }

    /// The state of the relay; ``RelayHealth/broken`` if an event loop is so late that the relay should be restarted.
    public var health: RelayHealth {
        let (stage, lastSweeps) = running.withLock { ($0.stage, $0.lastSweeps) }
        guard stage == .ready || stage == .draining else { return stage }
        let latest = NIODeadline.now() - configuration.limits.sweepInterval - Self.longestSweepDelay
        return lastSweeps.allSatisfy { $0.withLock { $0 } > latest } ? stage : .broken
    }

    /// Number of open connections, including those without a request.
    public var connections: Int { admission.connections }

    /// Number of connections since the start, without those that were rejected.
    public var acceptedConnections: Int { admission.acceptedConnections }

    // MARK: Stop

    /// Refuses new tunnels, waits until all existing ones have ended or `grace` is over, and shuts down.
    ///
    /// Meanwhile the relay keeps listening, so that clients still reach waiting phones.
    public func drain(grace: TimeAmount) async {
        // This comes first, so that no tunnel can be opened once the new state is visible.
        admission.drain()
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

    /// Waits for the requests of open connections, up to the time limit of a request, so that they can be refused.
    ///
    /// A load balancer retries a refused request at another relay, but not one whose connection was closed.
    private func waitForRequests() async {
        let latest = NIODeadline.now() + registry.limits.headTime
        while connections > 0, .now() < latest, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Stops listening, closes every tunnel with 1001 and waits until all connections are closed.
    ///
    /// This takes at most `limits.shutdownGrace`, or a little longer under load. It can be called repeatedly.
    public func shutdown() async {
        let (listeners, timers, sweeps) = running.withLock { state in
            defer { (state.listeners, state.stage) = ([], .stopped) }
            return (state.listeners, state.timers, state.sweeps)
        }
        for listener in listeners { try? await listener.close().get() }
        let grace = configuration.limits.shutdownGrace
        let closed = timers.map { own in
            own.eventLoop.flatSubmit { own.value.close(grace: grace) }
        }
        for future in closed { try? await future.get() }
        for sweep in sweeps { sweep.cancel() }
    }
}

/// The state of a relay, for load balancers and service managers.
public enum RelayHealth: String, Sendable, CaseIterable {
    /// The relay is not listening yet.
    case starting
    /// The relay accepts new tunnels.
    case ready
    /// The relay refuses new tunnels; waiting ones can still be joined.
    case draining
    /// The relay is listening, but an event loop is blocked.
    case broken
    /// The relay has been shut down.
    case stopped
}

/// A failure to listen on an address.
public struct ListenError: ExplainedFailure, Equatable {
    /// The address as `HOST:PORT`.
    public let address: String
    /// The system's error number; 0 if there is none.
    public let errorNumber: CInt

    init(_ address: SocketAddress, _ error: any Error) {
        self.address = address.hostAndPort
        errorNumber = (error as? IOError)?.errnoCode ?? 0
    }

    /// The name of the status.
    public var code: String { status.name }
    /// The exit status of a command that fails with this error.
    public var status: ExitStatus { .unavailable }

    /// The cause and, if there is one, the remedy.
    public var sentence: String {
        switch errorNumber {
        case EADDRINUSE: "cannot listen on \(address): another program uses it; stop it, or choose another port"
        case EACCES: "may not listen on \(address): ports below 1024 need the capability CAP_NET_BIND_SERVICE"
        case EADDRNOTAVAIL: "cannot listen on \(address): this computer does not have that address"
        case 0: "cannot listen on \(address)"
        default: "cannot listen on \(address): \(String(cString: strerror(errorNumber)))"
        }
    }
}

extension SocketAddress {
    /// The address as `HOST:PORT`, with an IPv6 address in brackets.
    var hostAndPort: String { HostPort(host: ipAddress ?? "?", port: port ?? 0).description }
}
