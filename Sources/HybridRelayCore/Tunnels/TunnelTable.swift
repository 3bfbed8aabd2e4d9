// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridPrimitives
public import NIOCore

/// One of the two ends of a tunnel.
public enum TunnelSide: Hashable, Sendable {
    /// The end that opened the tunnel with `/cable/new`.
    case phone
    /// The end that joined it with `/cable/connect`.
    case client
}

/// The identity of a tunnel inside a relay: the routing ID assigned to the phone, and the tunnel ID known to both ends.
///
/// The tunnel ID alone is not unique: a phone that lost its network connection returns with the same tunnel ID.
public struct TunnelKey: Hashable, Sendable, SecretMaterial {
    /// The routing ID assigned by this relay.
    public let routing: RoutingID
    /// The tunnel ID derived from the QR code.
    public let tunnel: TunnelID

    /// Creates a key from its parts.
    public init(routing: RoutingID, tunnel: TunnelID) {
        self.routing = routing
        self.tunnel = tunnel
    }
}

/// A summary of a tunnel after both ends have left; nothing in it identifies a user.
public struct TunnelRecord: Hashable, Sendable {
    /// The reason for the end.
    public let reason: TunnelEndReason
    /// True if a client joined the tunnel.
    public let wasPaired: Bool
    /// Time from the phone's arrival until the last socket closed.
    public let lifetime: TimeAmount
    /// Number of bytes that both ends sent after their upgrade, counted as for ``RelayLimits/tunnelBytes``.
    public let bytes: Int

    /// The range of the lifetime, so that a log does not reveal the exact time of a sign-in.
    public var lifetimeClass: String {
        switch lifetime {
        case ..<TimeAmount.seconds(1): "<1s"
        case ..<TimeAmount.seconds(10): "<10s"
        case ..<TimeAmount.minutes(1): "<1min"
        case ..<TimeAmount.minutes(10): "<10min"
        default: ">=10min"
        }
    }
}

/// All tunnels and their states: a pure state machine without sockets, clock or randomness.
///
///     new                    connect                  closed by an end, a limit, a shutdown
///     ────→ waiting ────────────────────→ paired ──────────────────────────→ closing ──→ removed
///              │                                                                ↑
///              └── timeout, phone closed, superseded by newer ones, shutdown ───┘
///
/// Each event is a call with the current time. Results are ``CloseInstruction`` values, and a ``TunnelRecord`` after
/// both ends have left. A tunnel ends only once: events during closing change nothing. A `Member` is the caller's
/// reference to an end's connection.
///
/// A routing ID consists of this relay's node number and one random byte. The byte is part of the key, so it is checked
/// on connect. A phone that returns with the same tunnel ID gets a second tunnel. The old one stays, because the client
/// may still request either. At most `limits.waitingPerTunnelID` of them wait.
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
    /// The limits; a change takes effect with the next call, even for existing tunnels.
    public var limits: RelayLimits {
        didSet { nothingDueBefore = .uptimeNanoseconds(0) }
    }
    private var entries: [TunnelKey: Entry] = [:]
    /// Routing IDs of the tunnels that wait under a tunnel ID, the oldest first.
    private var waiting: [TunnelID: [RoutingID]] = [:]
    /// A time before all deadlines; an earlier sweep does nothing.
    private var nothingDueBefore = NIODeadline.distantFuture

    /// Creates an empty table for a relay's node number.
    public init(node: UInt16, limits: RelayLimits) {
        self.node = node
        self.limits = limits
    }

    /// Number of tunnels that have an open socket: waiting, paired or closing.
    public var count: Int { entries.count }

    /// Number of tunnels that wait for a client.
    public private(set) var waitingCount = 0

    /// An order to send an end a close frame and to close its connection.
    public struct CloseInstruction: Sendable {
        /// The end to close.
        public let member: Member
        /// The code of the close frame; `nil` means a close frame without a code.
        public let code: CloseCode?
    }

    /// The result of opening a tunnel.
    public struct Opening: Sendable {
        /// The tunnel's key; the phone receives its routing ID.
        public let key: TunnelKey
        /// Instruction for the phone that was superseded, if any.
        public let closeInstructions: [CloseInstruction]
    }

    // MARK: Opening and joining

    /// Opens a tunnel for a phone.
    ///
    /// - Parameters:
    ///   - tunnel: The tunnel ID.
    ///   - phone: The connection of the phone.
    ///   - check: A random byte for the routing ID. If it is in use under this tunnel ID, the next free one is taken.
    ///   - now: The current time.
    /// - Returns: The tunnel's key and an instruction for a superseded phone, or `nil` if the table is full.
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

    /// Returns the phone of a waiting tunnel; `nil` if no such tunnel waits.
    public func waitingPhone(of key: TunnelKey) -> Member? {
        guard let entry = entries[key], case .waiting = entry.phase else { return nil }
        return entry.phone
    }

    /// Adds a client to a waiting tunnel and returns its phone; `nil` if no such tunnel waits.
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

    // MARK: Closing

    /// Records that a tunnel carried data.
    public mutating func recordData(_ key: TunnelKey, now: NIODeadline) {
        guard let place = entries.index(forKey: key), case .paired = entries.values[place].phase else { return }
        entries.values[place].phase = .paired(lastData: now)
    }

    /// Ends a tunnel, and returns instructions for both ends, or none if the tunnel has already ended.
    public mutating func end(_ key: TunnelKey, _ reason: TunnelEndReason) -> [CloseInstruction] {
        guard let place = entries.index(forKey: key) else { return [] }
        let entry = entries.values[place]
        switch entry.phase {
        case .closing: return []
        case .waiting: stopWaiting(key)
        case .paired: break
        }
        entries.values[place].phase = .closing(reason)
        var closeInstructions: [CloseInstruction] = []
        if let phone = entry.phone {
            closeInstructions.append(CloseInstruction(member: phone, code: reason.closeCode(for: .phone)))
        }
        if let client = entry.client {
            closeInstructions.append(CloseInstruction(member: client, code: reason.closeCode(for: .client)))
        }
        return closeInstructions
    }

    /// Removes an end whose socket has closed, after it sent `bytes`.
    ///
    /// - Returns: Instructions for the other end if this ended the tunnel, and a record if both ends have left.
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
        guard entry.phone == nil, entry.client == nil, case .closing(let reason) = entry.phase else {
            return (closeInstructions, nil)
        }
        entries.remove(at: place)
        let record = TunnelRecord(
            reason: reason,
            wasPaired: entry.wasPaired,
            lifetime: now - entry.opened,
            bytes: entry.bytes
        )
        return (closeInstructions, record)
    }

    /// Ends the tunnels whose deadline has passed.
    public mutating func sweep(now: NIODeadline) -> [CloseInstruction] {
        guard now >= nothingDueBefore else { return [] }
        var due: [(TunnelKey, TunnelEndReason)] = []
        var next = NIODeadline.distantFuture
        for (key, entry) in entries {
            guard let (deadline, reason) = deadline(of: entry) else { continue }
            if deadline <= now {
                due.append((key, reason))
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
