// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads
internal import NIOCore

/// The deadlines of all connections of one event loop, checked by one repeated task.
///
/// No connection has a timer of its own. The timers must be used only on their event loop.
final class ConnectionTimers {
    private let registry: TunnelRegistry
    private let admission: AdmissionControl
    private let eventLoop: any EventLoop
    /// The handlers of all connections, each of which stores its index.
    private var connections: [TunnelHandler] = []
    private var whenEmpty: EventLoopPromise<Void>?
    /// Time of the last sweep, for the health check.
    private let lastSweep: Locked<NIODeadline>

    /// A buffer for outgoing messages, used while its storage is not shared.
    ///
    /// Its 8 KiB are enough for almost any message of a sign-in. All connections share it, so that an idle connection
    /// holds no buffer. Only ``FrameReader`` uses it and calls no other code meanwhile, so exclusive access need not be
    /// checked at run time.
    @exclusivity(unchecked) var sharedBuffer = ByteBufferAllocator().buffer(capacity: 8 << 10)

    /// Creates the timers of an event loop; must be called on it.
    init(
        registry: TunnelRegistry,
        admission: AdmissionControl,
        eventLoop: any EventLoop,
        lastSweep: Locked<NIODeadline> = Locked(.now())
    ) {
        self.registry = registry
        self.admission = admission
        self.lastSweep = lastSweep
        self.eventLoop = eventLoop
    }

    /// Adds a new connection, or closes it during a shutdown.
    func add(_ handler: TunnelHandler) {
        handler.timerIndex = connections.count
        connections.append(handler)
        if whenEmpty != nil { handler.closeConnection() }
    }

    /// Removes a closed connection and moves the last one to its index.
    func remove(_ handler: TunnelHandler) {
        guard let index = handler.timerIndex, let last = connections.popLast() else { return }
        handler.timerIndex = nil
        if last !== handler {
            connections[index] = last
            last.timerIndex = index
        }
        if connections.isEmpty { whenEmpty?.succeed() }
    }

    /// Checks every connection's deadline and reports the tunnels that carried data.
    func sweep() {
        let now = NIODeadline.now()
        lastSweep.withLock { $0 = now }
        var active: [TunnelKey] = []
        // A connection may be removed during the loop, but the loop iterates over a copy.
        for handler in connections {
            handler.checkDeadlines(now: now)
            if let key = handler.takeActivity() { active.append(key) }
        }
        registry.sweep(active: active, now: now)
        admission.sweep(now: now)
    }

    /// Closes new connections from now on, and ends the existing ones.
    ///
    /// Connections that are still open after `grace` are closed without a closing handshake.
    ///
    /// - Returns: A future that succeeds when all connections are closed.
    func close(grace: TimeAmount) -> EventLoopFuture<Void> {
        if let whenEmpty { return whenEmpty.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        whenEmpty = promise
        guard !connections.isEmpty else {
            promise.succeed()
            return promise.futureResult
        }
        for handler in connections { handler.shutDown() }
        let deadline = eventLoop.assumeIsolated().scheduleTask(in: grace) {
            for handler in self.connections { handler.closeConnection() }
        }
        promise.futureResult.assumeIsolated().whenComplete { _ in deadline.cancel() }
        return promise.futureResult
    }
}

@available(*, unavailable)
extension ConnectionTimers: Sendable {}

/// Time since an end last sent anything, and the pings sent since then.
struct KeepaliveState {
    enum Step {
        case wait
        case ping
        /// No ping was answered.
        case giveUp
    }

    private let lastReceived: NIODeadline
    private var pings = 0

    /// Creates the state of an end that sent something at this time.
    init(since lastReceived: NIODeadline) { self.lastReceived = lastReceived }

    /// Returns the next step; if it is a ping, the ping counts as sent.
    mutating func next(now: NIODeadline, limits: RelayLimits) -> Step {
        guard now - lastReceived >= limits.pingInterval * (pings + 1) else { return .wait }
        guard pings < limits.pingMisses else { return .giveUp }
        pings += 1
        return .ping
    }
}
