// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads
internal import NIOCore

/// The connections of one event loop, looked at by one timer: no connection has a timer of its own.
///
/// Belongs to its event loop; only that may touch it.
final class ConnectionTimers {
    private let registry: TunnelRegistry
    private let eventLoop: any EventLoop
    /// Each knows its place here.
    private var connections: [TunnelHandler] = []
    private var whenEmpty: EventLoopPromise<Void>?
    /// When the connections were last looked at, for those who watch the watch.
    private let beat: Locked<NIODeadline>

    /// What messages are written into while nobody else's is still in it; 8 KiB hold almost any message of a sign-in.
    ///
    /// One for all connections, so that an idle one holds nothing. Only a ``FrameReader`` gets at it, which calls nobody
    /// meanwhile; so it is not checked for a second access.
    @exclusivity(unchecked) var spare = ByteBufferAllocator().buffer(capacity: 8 << 10)

    /// Watches the connections of the event loop that it is created on.
    init(
        registry: TunnelRegistry,
        eventLoop: any EventLoop,
        beat: Locked<NIODeadline> = Locked(.now())
    ) {
        self.registry = registry
        self.beat = beat
        self.eventLoop = eventLoop
    }

    /// A connection begins; while the relay goes down it is turned away.
    func add(_ handler: TunnelHandler) {
        handler.placeInWatch = connections.count
        connections.append(handler)
        if whenEmpty != nil { handler.hangUp() }
    }

    /// A connection is closed; the last one takes its place.
    func remove(_ handler: TunnelHandler) {
        guard let place = handler.placeInWatch, let last = connections.popLast() else { return }
        handler.placeInWatch = nil
        if last !== handler {
            connections[place] = last
            last.placeInWatch = place
        }
        if connections.isEmpty { whenEmpty?.succeed() }
    }

    /// Looks at every connection's deadline, and reports which tunnels carried data.
    func sweep() {
        let now = NIODeadline.now()
        beat.withLock { $0 = now }
        var active: [TunnelKey] = []
        // A connection may leave while it is looked at, so this goes over a copy.
        for handler in connections {
            handler.look(now: now)
            if let key = handler.takeActivity() { active.append(key) }
        }
        registry.sweep(active: active)
    }

    /// Takes no more connections, ends those there are, and succeeds when all are closed.
    ///
    /// Those still open after `grace` are cut off.
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
            for handler in self.connections { handler.hangUp() }
        }
        promise.futureResult.assumeIsolated().whenComplete { _ in deadline.cancel() }
        return promise.futureResult
    }
}

@available(*, unavailable)
extension ConnectionTimers: Sendable {}
