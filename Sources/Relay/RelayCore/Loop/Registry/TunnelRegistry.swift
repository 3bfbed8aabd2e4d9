// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads
internal import Logging
internal import Metrics
internal import NIOCore

/// The tunnel table and the contact table, shared by all event loops.
///
/// One lock protects both, so each event is one step for the two tables. It is held only for the tables' own work.
/// Instructions are returned to the calling event loop, which carries them out. The registry is called a few times per
/// tunnel and once per sweep of an event loop, but not for messages.
final class TunnelRegistry: Sendable {
    /// The number of bytes that all connections buffer, and its limit.
    let budget: BufferBudget

    struct State {
        var table: TunnelTable<TunnelMember>
        var contacts: ContactTable<TunnelMember>
        var limits: LimitsReference
        /// Resumed when the last tunnel is removed.
        var whenEmpty: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextID = 0
    }

    let state: Locked<State>
    private let metrics = TunnelMetrics()
    let contactMetrics = ContactMetrics()
    private let logger: Logger

    init(node: UInt16, limits: RelayLimits, logger: Logger) {
        state = Locked(
            State(
                table: TunnelTable(node: node, limits: limits),
                contacts: ContactTable(limits: limits),
                limits: LimitsReference(limits)
            )
        )
        budget = BufferBudget(limit: limits.bufferedBytes)
        self.logger = logger
    }

    /// Limits for new connections.
    var limits: RelayLimits { sharedLimits.value }

    /// Limits for new connections, in an object that connections share.
    var sharedLimits: LimitsReference { state.withLock { $0.limits } }

    /// Replaces the limits; those that concern a single connection apply only to new connections.
    func replace(limits: RelayLimits) {
        state.withLock { state in
            state.table.limits = limits
            state.contacts.limits = limits
            state.limits = LimitsReference(limits)
        }
        budget.setLimit(limits.bufferedBytes)
    }

    // MARK: Tunnels

    /// Opens the tunnel that an end requests, or joins the one that it requests.
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
            return try join(TunnelIdentity(routing: routing, tunnel: tunnel), by: member, now: now)
        case .contact(let contact): return try requestContact(contact, of: request, by: member, now: now)
        case .listen(let contact):
            guard contact.kind == .listener else { throw .foreignContact }
            return .challenged(contact)
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
        recordOpening(count: count)
        return opening
    }

    /// Records that a tunnel was opened, and the number of tunnels.
    func recordOpening(count: Int) {
        metrics.opened.increment()
        metrics.open.record(count)
    }

    private func join(
        _ key: TunnelIdentity,
        by member: TunnelMember,
        now: NIODeadline
    ) throws(UpgradeRefusal) -> UpgradeResult {
        let (result, outcome) = state.withLock { state -> (UpgradeResult?, WakeUpOutcome?) in
            guard let (waiting, side) = state.table.waitingEnd(of: key) else { return (nil, nil) }
            guard waiting.mailbox === member.mailbox else { return (.elsewhere(waiting.mailbox), nil) }
            guard side == .phone || state.contacts.canJoin(key) else { return (nil, nil) }
            guard state.table.join(key, by: member, now: now) != nil else { return (nil, nil) }
            return (.joined(key, as: side.other, waiting: waiting.connection), state.settleWaits().first)
        }
        if let outcome { contactMetrics.record(outcome) }
        guard let result else { throw .unknownTunnel }
        return result
    }

    /// Ends a tunnel for a reason that the connection of one end has detected.
    func end(_ key: TunnelIdentity, _ reason: TunnelEndReason) -> [TunnelTable<TunnelMember>.CloseInstruction] {
        let (closeInstructions, outcomes) = state.withLock { ($0.table.end(key, reason), $0.settleWaits()) }
        for outcome in outcomes { contactMetrics.record(outcome) }
        return closeInstructions
    }

    /// Removes an end whose connection has closed, after it sent `bytes`.
    func leave(
        _ key: TunnelIdentity,
        _ side: TunnelSide,
        bytes: Int,
        now: NIODeadline
    ) -> [TunnelTable<TunnelMember>.CloseInstruction] {
        let (left, outcomes, count, waiting) = state.withLock { state in
            let left = state.table.leave(key, side, bytes: bytes, now: now)
            let outcomes = state.settleWaits()
            guard state.table.count == 0 else {
                return (left, outcomes, state.table.count, [CheckedContinuation<Void, Never>]())
            }
            defer { state.whenEmpty = [:] }
            return (left, outcomes, 0, Array(state.whenEmpty.values))
        }
        for outcome in outcomes { contactMetrics.record(outcome) }
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
    func sweep(active: [TunnelIdentity], now: NIODeadline) -> [TunnelTable<TunnelMember>.CloseInstruction] {
        let (closeInstructions, outcomes, counts, revocations) = state.withLock { state in
            for key in active { state.table.recordData(key, now: now) }
            var closeInstructions = state.table.sweep(now: now)
            for key in state.contacts.sweep(now: now) { closeInstructions += state.table.end(key, .unreachable) }
            return (closeInstructions, state.settleWaits(), state.counts, state.contacts.revocationCount)
        }
        for outcome in outcomes { contactMetrics.record(outcome) }
        metrics.record(open: counts.open, waiting: counts.waiting, buffered: budget.bytes)
        contactMetrics.record(listeners: counts.listeners, held: counts.held)
        contactMetrics.revocations.record(revocations)
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
    case opened(TunnelIdentity, closeInstructions: [TunnelTable<TunnelMember>.CloseInstruction])
    /// The connection has become this end of a tunnel, whose other end waited on the same event loop.
    case joined(TunnelIdentity, as: TunnelSide, waiting: ConnectionID)
    /// The end that waits belongs to another event loop, so the connection has to move there before it can join.
    case elsewhere(LoopMailbox)
    /// The connection has become a client that contacts a phone, and waits for the order to respond.
    case contacting(TunnelIdentity, [ContactTable<TunnelMember>.Instruction])
    /// The connection may become a listener once it has proven this contact ID.
    case challenged(ContactID)
}

/// The address of an end: its event loop and its connection there.
struct TunnelMember: Sendable {
    let mailbox: LoopMailbox
    let connection: ConnectionID
}

/// Limits for connections, in an object, because they are many and each connection refers to them.
final class LimitsReference: Sendable {
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
