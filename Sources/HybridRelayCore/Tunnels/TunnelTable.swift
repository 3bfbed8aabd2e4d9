// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import NIOCore

/// Which tunnels there are and what state each is in: a pure state machine without sockets, clock or randomness.
///
///     new                    connect                   an end, a limit, a shutdown
///     ────→ waiting ────────────────────→ paired ──────────────────────────→ closing ──→ gone
///              │                                                                ↑
///              └── TTL, phone gone, displaced by newer ones, shutdown ──────────┘
///
/// What happened comes in as a call with the time; what has to be done comes out as ``CloseInstruction`` orders, and a
/// ``TunnelRecord`` once both ends have left. A tunnel has one end only: what happens while it closes changes
/// nothing. A `Member` is whatever the driver needs to reach an end's connection.
///
/// A routing ID is this relay's node number and one random byte; the byte is checked on connect because it is
/// part of the key. A phone that comes back with the same tunnel ID gets a tunnel beside the old one, since its
/// client may still be looking for either: at most `limits.waitingPerTunnelID` of them wait.
public struct TunnelTable<Member: Sendable>: Sendable {
    private enum Phase {
        case waiting
        case paired(lastData: NIODeadline)
        case closing(TunnelEndReason)
    }

    private struct Entry {
        var phone: Member?
        var client: Member?
        var phase = Phase.waiting
        let opened: NIODeadline
        var wasPaired = false
        var bytes = 0
    }

    private let node: UInt16
    /// Bounds; new ones count from the next call on, also for tunnels there are.
    public var limits: RelayLimits {
        didSet { nothingDueBefore = .uptimeNanoseconds(0) }
    }
    private var entries: [TunnelKey: Entry] = [:]
    /// Routing IDs of the tunnels that wait under a tunnel ID, the oldest first.
    private var waiting: [TunnelID: [RoutingID]] = [:]
    /// No deadline lies before this, so a sweep before it has nothing to look for.
    private var nothingDueBefore = NIODeadline.distantFuture

    /// An empty table of a relay's node.
    public init(node: UInt16, limits: RelayLimits) {
        self.node = node
        self.limits = limits
    }

    /// Tunnels that hold a socket: waiting, paired or closing.
    public var count: Int { entries.count }

    /// Tunnels whose client has not come.
    public private(set) var waitingCount = 0

    /// An order to a driver: tell an end that the tunnel is over, and hang up.
    public struct CloseInstruction: Sendable {
        /// The end to be told.
        public let member: Member
        /// The code of the close frame; `nil` is a close frame without one.
        public let code: CloseCode?
    }

    /// What became of a `new`.
    public struct Opening: Sendable {
        /// The tunnel's key; its routing ID is for the phone.
        public let key: TunnelKey
        /// The phone that had to make room, if any.
        public let closeInstructions: [CloseInstruction]
    }

    // MARK: Ends come

    /// A phone opens a tunnel.
    ///
    /// `check` is a random byte for the routing ID; where it is taken under this tunnel ID, the next free one is
    /// used. `nil` means that the table is full.
    public mutating func open(
        _ tunnel: TunnelID,
        by phone: Member,
        check: UInt8,
        now: NIODeadline
    ) -> Opening? {
        guard entries.count < limits.tunnels, let routing = freeRouting(for: tunnel, from: check) else { return nil }
        let key = TunnelKey(routing: routing, tunnel: tunnel)
        var closeInstructions: [CloseInstruction] = []
        if let queue = waiting[tunnel], queue.count >= limits.waitingPerTunnelID, let oldest = queue.first {
            closeInstructions = end(TunnelKey(routing: oldest, tunnel: tunnel), .superseded)
        }
        entries[key] = Entry(phone: phone, opened: now)
        waiting[tunnel, default: []].append(routing)
        waitingCount += 1
        nothingDueBefore = min(nothingDueBefore, now + min(limits.waiting, limits.lifetime))
        return Opening(key: key, closeInstructions: closeInstructions)
    }

    /// A client joins a waiting tunnel and gets its phone; `nil` if there is no such tunnel, or no longer.
    public mutating func join(_ key: TunnelKey, by client: Member, now: NIODeadline) -> Member? {
        guard let place = entries.index(forKey: key), case .waiting = entries.values[place].phase,
            let phone = entries.values[place].phone
        else { return nil }
        entries.values[place].client = client
        entries.values[place].phase = .paired(lastData: now)
        entries.values[place].wasPaired = true
        stopWaiting(key)
        nothingDueBefore = min(nothingDueBefore, now + limits.idle)
        return phone
    }

    private func freeRouting(for tunnel: TunnelID, from check: UInt8) -> RoutingID? {
        for step in 0...UInt8.max {
            let routing = RoutingID(node: node, check: check &+ step)
            if entries[TunnelKey(routing: routing, tunnel: tunnel)] == nil { return routing }
        }
        return nil
    }

    private mutating func stopWaiting(_ key: TunnelKey) {
        waitingCount -= 1
        guard let place = waiting.index(forKey: key.tunnel) else { return }
        waiting.values[place].removeAll { $0 == key.routing }
        if waiting.values[place].isEmpty { waiting.remove(at: place) }
    }

    // MARK: Tunnels end

    /// A tunnel carried data.
    public mutating func noteData(_ key: TunnelKey, now: NIODeadline) {
        guard let place = entries.index(forKey: key), case .paired = entries.values[place].phase else { return }
        entries.values[place].phase = .paired(lastData: now)
    }

    /// A tunnel ends; both ends are to be told, unless it was over already.
    public mutating func end(_ key: TunnelKey, _ end: TunnelEndReason) -> [CloseInstruction] {
        guard let place = entries.index(forKey: key) else { return [] }
        let entry = entries.values[place]
        switch entry.phase {
        case .closing: return []
        case .waiting: stopWaiting(key)
        case .paired: break
        }
        entries.values[place].phase = .closing(end)
        var closeInstructions: [CloseInstruction] = []
        if let phone = entry.phone {
            closeInstructions.append(CloseInstruction(member: phone, code: end.closeCode(for: .phone)))
        }
        if let client = entry.client {
            closeInstructions.append(CloseInstruction(member: client, code: end.closeCode(for: .client)))
        }
        return closeInstructions
    }

    /// An end's socket is closed, after it sent `bytes`.
    ///
    /// Where that is news to the tunnel, the other end is to be told. The record comes with the last end.
    public mutating func leave(
        _ key: TunnelKey,
        _ side: TunnelSide,
        bytes: Int,
        now: NIODeadline
    ) -> (closeInstructions: [CloseInstruction], record: TunnelRecord?) {
        guard let place = entries.index(forKey: key) else { return ([], nil) }
        switch side {
        case .phone: entries.values[place].phone = nil
        case .client: entries.values[place].client = nil
        }
        entries.values[place].bytes += bytes
        let closeInstructions: [CloseInstruction] =
            switch entries.values[place].phase {
            case .waiting: end(key, .abandoned)
            case .paired: end(key, .vanished(side))
            case .closing: []
            }
        let entry = entries.values[place]
        guard entry.phone == nil, entry.client == nil, case .closing(let end) = entry.phase else {
            return (closeInstructions, nil)
        }
        entries.remove(at: place)
        let record = TunnelRecord(
            end: end,
            wasPaired: entry.wasPaired,
            lifetime: now - entry.opened,
            bytes: entry.bytes
        )
        return (closeInstructions, record)
    }

    /// Ends the tunnels whose time is up.
    public mutating func sweep(now: NIODeadline) -> [CloseInstruction] {
        guard now >= nothingDueBefore else { return [] }
        var due: [(TunnelKey, TunnelEndReason)] = []
        var next = NIODeadline.distantFuture
        for (key, entry) in entries {
            guard let (deadline, end) = deadline(of: entry) else { continue }
            if deadline <= now {
                due.append((key, end))
            } else {
                next = min(next, deadline)
            }
        }
        nothingDueBefore = next
        return due.flatMap { end($0.0, $0.1) }
    }

    private func deadline(of entry: Entry) -> (NIODeadline, TunnelEndReason)? {
        let lifetime = entry.opened + limits.lifetime
        switch entry.phase {
        case .waiting:
            let unclaimed = entry.opened + limits.waiting
            return unclaimed <= lifetime ? (unclaimed, .unclaimed) : (lifetime, .outlived)
        case .paired(let lastData):
            let idle = lastData + limits.idle
            return idle <= lifetime ? (idle, .idle) : (lifetime, .outlived)
        case .closing:
            return nil
        }
    }
}
