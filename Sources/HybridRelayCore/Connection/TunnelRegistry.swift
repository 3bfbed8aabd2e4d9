// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads
internal import Logging
internal import Metrics
internal import NIOCore
internal import Synchronization

/// The tunnel table, shared by all event loops.
///
/// The lock is held only for the table's own work, never while an end is closed. The registry is called a few times per
/// tunnel and once per sweep of an event loop, but not for messages.
final class TunnelRegistry: Sendable {
    /// The number of bytes that all tunnels hold, and its limit.
    let budget: BufferBudget

    private struct State {
        var table: TunnelTable<TunnelMember>
        /// Resumed when the last tunnel is removed.
        var whenEmpty: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextID = 0
    }

    private let state: Locked<State>
    private let metrics = TunnelMetrics()
    private let logger: Logger

    init(node: UInt16, limits: RelayLimits, logger: Logger) {
        state = Locked(State(table: TunnelTable(node: node, limits: limits)))
        budget = BufferBudget(limit: limits.bufferedBytes)
        self.logger = logger
    }

    /// Limits for new connections.
    var limits: RelayLimits { state.withLock { $0.table.limits } }

    /// Replaces the limits; those that concern a single connection apply only to new connections.
    func replace(limits: RelayLimits) {
        state.withLock { $0.table.limits = limits }
        budget.setLimit(limits.bufferedBytes)
    }

    // MARK: Tunnels

    /// Opens the tunnel that a phone requests, or joins the one that a client requests.
    func upgrade(_ member: TunnelMember, for request: UpgradeRequest) throws(UpgradeRefusal) -> UpgradeResult {
        switch request.path {
        case .new(let tunnel):
            let key = try open(tunnel, by: member)
            return UpgradeResult(key: key, side: .phone, phone: nil, response: request.response(routing: key.routing))
        case .connect(let routing, let tunnel):
            let key = TunnelKey(routing: routing, tunnel: tunnel)
            let phone = state.withLock { $0.table.join(key, by: member, now: .now()) }
            guard let phone else { throw .unknownTunnel }
            return UpgradeResult(key: key, side: .client, phone: phone, response: request.response(routing: nil))
        }
    }

    private func open(_ tunnel: TunnelID, by phone: TunnelMember) throws(UpgradeRefusal) -> TunnelKey {
        let check = UInt8.random(in: .min ... .max)
        let (opening, count) = state.withLock { state in
            (state.table.open(tunnel, by: phone, check: check, now: .now()), state.table.count)
        }
        guard let opening else { throw .full }
        metrics.opened.increment()
        metrics.open.record(count)
        carryOut(opening.closeInstructions)
        return opening.key
    }

    /// Ends a tunnel for a reason that the connection of one end has detected.
    func end(_ key: TunnelKey, _ reason: TunnelEndReason) {
        carryOut(state.withLock { $0.table.end(key, reason) })
    }

    /// Removes an end whose connection has closed, after it sent `bytes`.
    func leave(_ key: TunnelKey, _ side: TunnelSide, bytes: Int) {
        let (left, count, waiting) = state.withLock { state in
            let left = state.table.leave(key, side, bytes: bytes, now: .now())
            guard state.table.count == 0 else { return (left, state.table.count, [CheckedContinuation<Void, Never>]()) }
            defer { state.whenEmpty = [:] }
            return (left, 0, Array(state.whenEmpty.values))
        }
        for continuation in waiting { continuation.resume() }
        carryOut(left.closeInstructions)
        guard let record = left.record else { return }
        metrics.ended[record.reason.label]?.increment()
        metrics.bytes.increment(by: record.bytes)
        metrics.open.record(count)
        logger.info(
            "tunnel ended",
            metadata: [
                "reason": .string(record.reason.label), "paired": .string(record.wasPaired ? "true" : "false"),
                "lasted": .string(record.lifetimeClass), "bytes": .string(String(record.bytes)),
            ]
        )
    }

    /// Records which tunnels carried data since the last sweep, and ends those whose deadline has passed.
    func sweep(active: [TunnelKey], now: NIODeadline) {
        let (closeInstructions, open, waiting) = state.withLock { state in
            for key in active { state.table.recordData(key, now: now) }
            return (state.table.sweep(now: now), state.table.count, state.table.waitingCount)
        }
        carryOut(closeInstructions)
        metrics.record(open: open, waiting: waiting, buffered: budget.bytes)
    }

    /// Waits until no tunnel is left, or until the task is canceled.
    func waitUntilEmpty() async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.table.count == 0 || Task.isCancelled { return true }
                    state.whenEmpty[id] = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.whenEmpty.removeValue(forKey: id) }?.resume()
        }
    }

    private func carryOut(_ closeInstructions: [TunnelTable<TunnelMember>.CloseInstruction]) {
        for instruction in closeInstructions {
            let code = instruction.code
            if let handler = instruction.member.localHandler {
                handler.closeTunnel(code)
            } else {
                instruction.member.perform { $0.closeTunnel(code) }
            }
        }
    }
}

/// The result of a successful upgrade: one end of a tunnel.
struct UpgradeResult {
    let key: TunnelKey
    let side: TunnelSide
    /// The waiting phone that a client has joined; `nil` for a phone.
    let phone: TunnelMember?
    /// The HTTP response.
    let response: ByteBuffer
}

/// A reference to an end's handler, through which other event loops reach it.
struct TunnelMember: Sendable {
    private let eventLoop: any EventLoop
    private let handler: NIOLoopBound<TunnelHandler>

    /// Creates a reference; must be called on the handler's event loop.
    init(_ handler: TunnelHandler, on eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
    }

    /// The handler if the caller is on its event loop, otherwise `nil`.
    ///
    /// This is for frequent calls, for which a closure would cost too much.
    var localHandler: TunnelHandler? { eventLoop.inEventLoop ? handler.value : nil }

    /// Runs an action on the handler's event loop.
    ///
    /// The action runs at once if the caller is on that event loop, otherwise after the caller's earlier actions.
    func perform(_ action: @escaping @Sendable (TunnelHandler) -> Void) {
        if eventLoop.inEventLoop {
            action(handler.value)
        } else {
            eventLoop.execute { action(handler.value) }
        }
    }
}

/// The number of bytes that all tunnels hold in memory, and its limit.
///
/// These are the bytes that one end's handler has forwarded and that the other end's socket has not yet accepted. Each
/// tunnel has its own window. If many tunnels stall at once, the sum of their windows could exceed the memory of the
/// computer. At the limit, every end with data in flight is paused.
final class BufferBudget: Sendable {
    private let held = Atomic<Int>(0)
    private let limit: Atomic<Int>

    init(limit: Int) { self.limit = Atomic(limit) }

    /// Number of bytes held.
    var bytes: Int { held.load(ordering: .relaxed) }

    /// True if the limit is reached.
    var isExhausted: Bool { bytes >= limit.load(ordering: .relaxed) }

    /// Adds to the bytes held; a negative number releases them.
    func add(_ bytes: Int) { held.add(bytes, ordering: .relaxed) }

    /// Replaces the limit.
    ///
    /// The bytes held do not change.
    func setLimit(_ limit: Int) { self.limit.store(limit, ordering: .relaxed) }
}

/// Metrics of tunnels, none of which identifies a user.
private struct TunnelMetrics: Sendable {
    let opened = Counter(label: "hybrid_relay_tunnels_total")
    let open = Gauge(label: "hybrid_relay_tunnels_open")
    let bytes = Counter(label: "hybrid_relay_tunnel_bytes_total")
    let ended = Dictionary(
        uniqueKeysWithValues: TunnelEndReason.labels.map { label in
            (label, Counter(label: "hybrid_relay_tunnel_ends_total", dimensions: [("reason", label)]))
        }
    )
    private let waiting = Gauge(label: "hybrid_relay_tunnels_waiting")
    private let buffered = Gauge(label: "hybrid_relay_buffered_bytes")

    init() { record(open: 0, waiting: 0, buffered: 0) }

    /// Records the current values; called periodically.
    ///
    /// The number of open tunnels is included, because two event loops may have recorded it in the wrong order.
    func record(open: Int, waiting: Int, buffered: Int) {
        self.open.record(open)
        self.waiting.record(waiting)
        self.buffered.record(buffered)
    }
}
