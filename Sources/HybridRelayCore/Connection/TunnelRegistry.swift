// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads
internal import Logging
internal import Metrics
internal import NIOCore

/// The tunnel table, shared by all event loops.
///
/// The lock is held only for the table's own work. Close instructions are returned to the calling event loop, which
/// carries them out. The registry is called a few times per tunnel and once per sweep of an event loop, but not for
/// messages.
final class TunnelRegistry: Sendable {
    /// The number of bytes that all tunnels hold, and its limit.
    let budget: BufferBudget

    private struct State {
        var table: TunnelTable<TunnelMember>
        var limits: SharedLimits
        /// Resumed when the last tunnel is removed.
        var whenEmpty: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextID = 0
    }

    private let state: Locked<State>
    private let metrics = TunnelMetrics()
    private let logger: Logger

    init(node: UInt16, limits: RelayLimits, logger: Logger) {
        state = Locked(State(table: TunnelTable(node: node, limits: limits), limits: SharedLimits(limits)))
        budget = BufferBudget(limit: limits.bufferedBytes)
        self.logger = logger
    }

    /// Limits for new connections.
    var limits: RelayLimits { sharedLimits.value }

    /// Limits for new connections, in an object that connections share.
    var sharedLimits: SharedLimits { state.withLock { $0.limits } }

    /// Replaces the limits; those that concern a single connection apply only to new connections.
    func replace(limits: RelayLimits) {
        state.withLock { state in
            state.table.limits = limits
            state.limits = SharedLimits(limits)
        }
        budget.setLimit(limits.bufferedBytes)
    }

    // MARK: Tunnels

    /// Opens the tunnel that a phone requests, or joins the one that a client requests.
    func upgrade(
        _ member: TunnelMember,
        for request: UpgradeRequest,
        now: NIODeadline
    ) throws(UpgradeRefusal) -> UpgradeResult {
        switch request.path {
        case .new(let tunnel):
            let opening = try open(tunnel, by: member, now: now)
            return .opened(opening.key, closeInstructions: opening.closeInstructions)
        case .connect(let routing, let tunnel):
            return try join(TunnelKey(routing: routing, tunnel: tunnel), by: member, now: now)
        }
    }

    private func open(
        _ tunnel: TunnelID,
        by phone: TunnelMember,
        now: NIODeadline
    ) throws(UpgradeRefusal) -> TunnelTable<TunnelMember>.Opening {
        let check = UInt8.random(in: .min ... .max)
        let (opening, count) = state.withLock { state in
            (state.table.open(tunnel, by: phone, check: check, now: now), state.table.count)
        }
        guard let opening else { throw .full }
        metrics.opened.increment()
        metrics.open.record(count)
        return opening
    }

    private func join(
        _ key: TunnelKey,
        by client: TunnelMember,
        now: NIODeadline
    ) throws(UpgradeRefusal) -> UpgradeResult {
        let result = state.withLock { state -> UpgradeResult? in
            guard let phone = state.table.waitingPhone(of: key) else { return nil }
            guard phone.mailbox === client.mailbox else { return .elsewhere(phone.mailbox) }
            return state.table.join(key, by: client, now: now).map { .joined(key, phone: $0.connection) }
        }
        guard let result else { throw .unknownTunnel }
        return result
    }

    /// Ends a tunnel for a reason that the connection of one end has detected.
    func end(_ key: TunnelKey, _ reason: TunnelEndReason) -> [TunnelTable<TunnelMember>.CloseInstruction] {
        state.withLock { $0.table.end(key, reason) }
    }

    /// Removes an end whose connection has closed, after it sent `bytes`.
    func leave(
        _ key: TunnelKey,
        _ side: TunnelSide,
        bytes: Int,
        now: NIODeadline
    ) -> [TunnelTable<TunnelMember>.CloseInstruction] {
        let (left, count, waiting) = state.withLock { state in
            let left = state.table.leave(key, side, bytes: bytes, now: now)
            guard state.table.count == 0 else { return (left, state.table.count, [CheckedContinuation<Void, Never>]()) }
            defer { state.whenEmpty = [:] }
            return (left, 0, Array(state.whenEmpty.values))
        }
        for continuation in waiting { continuation.resume() }
        guard let record = left.record else { return left.closeInstructions }
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
        return left.closeInstructions
    }

    /// Records which tunnels carried data since the last sweep, and ends those whose deadline has passed.
    func sweep(active: [TunnelKey], now: NIODeadline) -> [TunnelTable<TunnelMember>.CloseInstruction] {
        let (closeInstructions, open, waiting) = state.withLock { state in
            for key in active { state.table.recordData(key, now: now) }
            return (state.table.sweep(now: now), state.table.count, state.table.waitingCount)
        }
        metrics.record(open: open, waiting: waiting, buffered: budget.bytes)
        return closeInstructions
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
}

/// The result of a request that was not refused.
enum UpgradeResult {
    /// The connection has become a waiting phone.
    case opened(TunnelKey, closeInstructions: [TunnelTable<TunnelMember>.CloseInstruction])
    /// The connection has become the client of this phone, which belongs to the same event loop.
    case joined(TunnelKey, phone: ConnectionID)
    /// The phone belongs to another event loop, so the connection has to move there before it can join.
    case elsewhere(LoopMailbox)
}

/// The address of an end: its event loop and its connection there.
struct TunnelMember: Sendable {
    let mailbox: LoopMailbox
    let connection: ConnectionID
}

/// Limits for connections, in an object, because they are many and each connection refers to them.
final class SharedLimits: Sendable {
    let value: RelayLimits

    init(_ value: RelayLimits) { self.value = value }
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
