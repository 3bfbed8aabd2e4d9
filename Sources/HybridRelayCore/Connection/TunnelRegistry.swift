// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads
internal import Logging
internal import NIOCore

/// The tunnel table as all event loops share it: a lock around it, and whoever carries out its orders.
///
/// The lock is held for the table's own work only, never while an end is told something. It is asked a few
/// times in a tunnel's life, and once per sweep of an event loop; messages do not pass here.
final class TunnelRegistry: Sendable {
    /// Who may come in.
    let doorkeeper: AdmissionControl
    /// What all tunnels hold.
    let budget: BufferBudget

    private struct State {
        var table: TunnelTable<TunnelMember>
        /// Resumed when the last tunnel is gone.
        var whenEmpty: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextID = 0
    }

    private let state: Locked<State>
    private let metrics = RelayMetrics()
    private let logger: Logger

    init(node: UInt16, limits: RelayLimits, logger: Logger, doorkeeper: AdmissionControl? = nil) {
        state = Locked(State(table: TunnelTable(node: node, limits: limits)))
        budget = BufferBudget(limit: limits.bufferedBytes)
        self.doorkeeper = doorkeeper ?? AdmissionControl(limits: limits)
        self.logger = logger
    }

    /// The bounds of connections that begin now.
    var limits: RelayLimits { state.withLock { $0.table.limits } }

    /// Other bounds: for tunnels at once, for what one connection may from the next connection on.
    func replace(limits: RelayLimits) {
        state.withLock { $0.table.limits = limits }
        budget.setLimit(limits.bufferedBytes)
        doorkeeper.replace(limits: limits)
    }

    // MARK: Connections

    /// A connection begins, unless it may not.
    func arrive(_ source: SourcePrefix?) throws(AdmissionControl.Rejection) {
        do throws(AdmissionControl.Rejection) {
            try doorkeeper.arrive(source)
            metrics.connectionArrived()
        } catch {
            metrics.connectionRejected(error.rawValue)
            throw error
        }
    }

    /// A connection that came from a balancer without saying whose it is.
    func rejectedHeader() { metrics.connectionRejected("proxy") }

    /// A connection is closed.
    func depart(_ source: SourcePrefix?) { doorkeeper.leave(source) }

    // MARK: Tunnels

    /// Whether a request may have what it asks for.
    func admit(_ request: UpgradeRequest, from source: SourcePrefix?) throws(UpgradeRefusal) {
        guard let name = try doorkeeper.admit(request, from: source, now: .now()) else { return }
        metrics.opened(by: name)
    }

    /// A phone opens a tunnel and gets its key.
    func open(_ tunnel: TunnelID, by phone: TunnelMember) throws(UpgradeRefusal) -> TunnelKey {
        let check = UInt8.random(in: .min ... .max)
        let (opening, count) = state.withLock { state in
            (state.table.open(tunnel, by: phone, check: check, now: .now()), state.table.count)
        }
        guard let opening else { throw .full }
        metrics.tunnelOpened(count: count)
        carryOut(opening.closeInstructions)
        return opening.key
    }

    /// A client joins a tunnel and gets its phone.
    func join(_ key: TunnelKey, by client: TunnelMember) throws(UpgradeRefusal) -> TunnelMember {
        let phone = state.withLock { $0.table.join(key, by: client, now: .now()) }
        guard let phone else { throw .unknownTunnel }
        return phone
    }

    /// A tunnel ends, for a reason that an end's connection found.
    func end(_ key: TunnelKey, _ end: TunnelEndReason) {
        carryOut(state.withLock { $0.table.end(key, end) })
    }

    /// An end's connection is closed, after it sent `bytes`.
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
        metrics.tunnelEnded(record, count: count)
        logger.info(
            "tunnel ended",
            metadata: [
                "reason": .string(record.end.label), "paired": .string(record.wasPaired ? "true" : "false"),
                "lasted": .string(record.lifetimeClass), "bytes": .string(String(record.bytes)),
            ]
        )
    }

    /// A request was refused.
    func refused(_ refusal: UpgradeRefusal) {
        metrics.refused(refusal)
        logger.debug("request refused", metadata: ["status": "\(refusal.status)", "why": "\(refusal)"])
    }

    /// Enters which tunnels carried data since the last sweep, and ends those whose time is up.
    func sweep(active: [TunnelKey]) {
        let now = NIODeadline.now()
        let (closeInstructions, open, waiting) = state.withLock { state in
            for key in active { state.table.noteData(key, now: now) }
            return (state.table.sweep(now: now), state.table.count, state.table.waitingCount)
        }
        carryOut(closeInstructions)
        doorkeeper.sweep(now: now)
        metrics.record(open: open, waiting: waiting, connections: doorkeeper.connections, bufferedBytes: budget.bytes)
    }

    /// Lets nobody open a tunnel any more.
    func drain() {
        doorkeeper.drain()
        metrics.drainBegins()
    }

    /// Waits until no tunnel is left, or for cancellation.
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
        for closeTimeout in closeInstructions {
            let code = closeTimeout.code
            if let here = closeTimeout.member.here {
                here.sayGoodbye(code)
            } else {
                closeTimeout.member.perform { $0.sayGoodbye(code) }
            }
        }
    }
}
