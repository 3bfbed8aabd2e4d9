// SPDX-License-Identifier: Apache-2.0

private import CHybridLinux
private import Glibc
public import HybridPrimitives
internal import HybridThreads
public import Logging
public import NIOCore

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
/// With ``RelayConfiguration/contactHost``, phones that are linked need no QR code. Such a phone keeps a connection to
/// `/cable/listen/{contact ID}` and proves with a signature that the contact ID is its own. A client requests
/// `/cable/contact/{contact ID}`. The relay opens a tunnel for the client and sends the phone its IDs, with which the
/// phone joins. If the phone is not connected, the request is held for a few seconds.
///
/// With ``RelayConfiguration/push``, a phone need not keep a connection. It proves its push subscription once and gets
/// a contact ID that contains the subscription, encrypted with the relay's key. The relay wakes it through its push
/// server, and answers the client when the push server has accepted the message.
///
/// The parts, in the order of a request: `Reactor`, an event loop on its own thread, accepts the connection.
/// ``ProxyHeaderReader`` finds its source behind a load balancer, and `AdmissionControl` with ``SourceTable`` admits it.
/// `RelayConnection` handles it from then on, with `TLSConnection` for its TLS session. ``RequestHeadReader`` and
/// ``UpgradeRequest`` parse the request, which ``TunnelTokens`` may restrict. ``TunnelTable`` holds the tunnels,
/// and `ContactTable` the phones that listen and the wake-ups for them. ``PushGateway`` sends messages to push servers.
/// ``FrameReader`` validates frames. Readers, tables and tokens do no input or output. ``AdminServer`` reports the
/// relay's state to operators.
///
/// Each event loop has its own connections, and both ends of a tunnel are on the same one: a client that was accepted on
/// another moves to its phone's. So messages never pass between threads. Only as many event loops accept connections as
/// the load needs (`LoopLoad`).
///
/// Before a planned shutdown, the relay drains: no tunnel can be opened, but waiting tunnels can still be joined. Phones
/// that listen are closed, so that they connect to another relay. The relay stops when the last tunnel has ended or the
/// grace period is over.
///
/// No peer is trusted: ``RelayLimits`` bounds every length, number and time.
///
/// Source: CTAP 2.2 §11.5. The path for phones follows the convention of existing tunnel services.
public final class RelayServer: Sendable {
    private struct Running: Sendable {
        var stage = RelayHealth.starting
        var sockets: [CInt] = []
        var loops: [LoopMailbox] = []
        var shutdown: Task<Void, Never>?
    }

    /// Delay of an event loop's sweep after which the relay counts as broken.
    private static let longestSweepDelay = TimeAmount.seconds(10)

    private let configuration: RelayConfiguration
    private let logger: Logger
    private let loopCount: Int
    private let context: RelayContext
    private let running = Locked(Running())

    /// Number of processors that this process may use.
    public static var usableProcessors: Int { Int(hybrid_usable_processors()) }

    /// Creates a relay that does not listen yet.
    ///
    /// - Parameters:
    ///   - configuration: Addresses, transport and access rules.
    ///   - logger: The logger for addresses, tunnels and refused requests.
    ///   - loops: The number of event loops, each with its own thread; `nil` means one for each usable processor.
    public init(configuration: RelayConfiguration, logger: Logger, loops: Int? = nil) {
        self.configuration = configuration
        self.logger = logger
        loopCount = max(1, loops ?? Self.usableProcessors)
        context = RelayContext(configuration: configuration, logger: logger)
    }

    // MARK: Start

    /// Starts listening.
    ///
    /// Must be called only once.
    ///
    /// - Returns: The addresses, with the actual port where 0 was given.
    /// - Throws: ``ListenError`` for the first address that cannot be bound, or `IOError` if the process has no
    ///   descriptors or threads left. In that case, the relay does not listen.
    public func start() async throws -> [SocketAddress] {
        do {
            try startLoops()
            let addresses = try listen()
            running.withLock { $0.stage = .ready }
            return addresses
        } catch {
            await shutdown()
            throw error
        }
    }

    private func startLoops() throws {
        let mailboxes = try (0..<loopCount).map { _ in try LoopMailbox() }
        for (index, mailbox) in mailboxes.enumerated() {
            let helper = index + 1 < loopCount ? mailboxes[index + 1] : nil
            let isStarted = DedicatedThread.start { [context] in
                Reactor(context, mailbox, isAccepting: index == 0, helper: helper).run()
            }
            guard isStarted else { throw IOError(errnoCode: EAGAIN, reason: "pthread_create") }
            running.withLock { $0.loops.append(mailbox) }
        }
    }

    private func listen() throws -> [SocketAddress] {
        var addresses: [SocketAddress] = []
        for descriptor in configuration.inherited {
            running.withLock { $0.sockets.append(descriptor) }
            try ListeningSocket.listen(onInherited: descriptor)
            if let address = ListeningSocket.address(of: descriptor) { addresses.append(address) }
        }
        for address in configuration.listen {
            let isShared = configuration.listen.contains { $0.protocol == .inet && $0.port == address.port }
            let descriptor: CInt
            do {
                descriptor = try ListeningSocket.open(address, isIPv6Only: address.protocol == .inet6 && isShared)
            } catch {
                throw ListenError(address, error)
            }
            running.withLock { $0.sockets.append(descriptor) }
            addresses.append(ListeningSocket.address(of: descriptor) ?? address)
        }
        let (sockets, loops) = running.withLock { ($0.sockets, $0.loops) }
        for descriptor in sockets { for loop in loops { loop.post(.addSocket(descriptor)) } }
        for address in addresses { logger.info("listening on \(address.hostAndPort)") }
        return addresses
    }

    /// Makes all event loops accept connections, until the load changes, so that a test uses all of them.
    func acceptOnAllLoops() { for loop in running.withLock({ $0.loops }) { loop.post(.accept(true)) } }

    /// Number of connections that have moved to another event loop.
    var handOffs: Int { running.withLock { $0.loops }.reduce(0) { $0 + $1.handOffs } }

    // MARK: Changes

    /// Replaces the certificate or other TLS settings.
    ///
    /// Existing connections keep theirs.
    public func replace(transport: SocketSecurity) { context.replace(transport: transport) }

    /// Replaces the tokens.
    ///
    /// Existing tunnels stay open.
    public func replace(tokens: TunnelTokens?) { context.admission.replace(tokens: tokens) }

    /// Replaces the limits; those that concern a single connection apply only to new connections.
    public func replace(limits: RelayLimits) {
        context.registry.replace(limits: limits)
        context.admission.replace(limits: limits)
        context.push?.replace(limits: limits)
    }

    /// The state of the relay; ``RelayHealth/broken`` if an event loop is so late that the relay should be restarted.
    public var health: RelayHealth {
        let (stage, loops) = running.withLock { ($0.stage, $0.loops) }
        guard stage == .ready || stage == .draining else { return stage }
        let latest = NIODeadline.now() - context.sweepInterval - Self.longestSweepDelay
        return loops.allSatisfy { $0.lastSweep > latest } ? stage : .broken
    }

    /// Number of open connections, including those without a request.
    public var connections: Int { context.admission.connections }

    /// Number of connections since the start, without those that were rejected.
    public var acceptedConnections: Int { context.admission.acceptedConnections }

    // MARK: Stop

    /// Refuses new tunnels, waits until all existing ones have ended or `grace` is over, and shuts down.
    ///
    /// Meanwhile the relay keeps listening, so that clients still reach waiting phones. It does so for at least `notice`, if
    /// `grace` is not shorter, so that load balancers see that it drains: when a node is gone to which they send requests,
    /// they abort some.
    public func drain(grace: TimeAmount, notice: TimeAmount = .zero) async {
        let noticed = NIODeadline.now() + notice
        // This comes first, so that no tunnel can be opened once the new state is visible.
        context.admission.drain()
        let isFirst = running.withLock { state in
            defer { if state.stage == .ready { state.stage = .draining } }
            return state.stage == .ready
        }
        if isFirst {
            logger.info("draining")
            context.push?.drain()
            for loop in running.withLock({ $0.loops }) { loop.post(.drain) }
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.context.registry.waitUntilEmpty()
                try? await Task.sleep(for: .nanoseconds((noticed - .now()).nanoseconds))
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
        let latest = NIODeadline.now() + context.registry.limits.headTime
        while connections > 0, .now() < latest, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Stops listening, closes every tunnel with 1001 and waits until all connections are closed.
    ///
    /// This takes at most `limits.shutdownGrace`, or a little longer under load. It can be called repeatedly.
    public func shutdown() async {
        let task = running.withLock { state in
            state.stage = .stopped
            // All callers wait for the same shutdown.
            let task = state.shutdown ?? Task { await stop() }
            state.shutdown = task
            return task
        }
        await task.value
    }

    private func stop() async {
        let (sockets, loops) = running.withLock { state in
            defer { state.sockets = [] }
            return (state.sockets, state.loops)
        }
        context.push?.drain()
        // An event loop could otherwise accept from a later socket with the same number.
        for loop in loops { await loop.post { .removeSockets($0) } }
        for descriptor in sockets { close(descriptor) }
        let grace = configuration.limits.shutdownGrace
        await withTaskGroup(of: Void.self) { group in
            for loop in loops { group.addTask { await loop.post { .close(grace: grace, $0) } } }
        }
        // No event loop stops before all are empty, because one may still move a connection to another.
        for loop in loops { await loop.post { .stop($0) } }
        running.withLock { $0.loops = [] }
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
        case EACCES: "can't listen on \(address): ports below 1024 need the capability CAP_NET_BIND_SERVICE"
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
