// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridPrimitives
public import NIOCore

/// One of the two ends of a tunnel.
public enum TunnelSide: Hashable, Sendable {
    /// The end with the passkey: it opened the tunnel with `/cable/new`, or joined that of a client that contacted it.
    case phone
    /// The end that joined with `/cable/connect`, or opened the tunnel with `/cable/contact`.
    case client

    /// The other end.
    var other: TunnelSide { self == .phone ? .client : .phone }
}

/// The identity of a tunnel inside a relay: the routing ID assigned to the phone, and the tunnel ID known to both ends.
///
/// The tunnel ID alone is not unique: a phone that lost its network connection returns with the same tunnel ID.
public struct TunnelIdentity: Hashable, Sendable, SecretMaterial {
    /// The routing ID assigned by this relay.
    public let routing: RoutingID
    /// The tunnel ID derived from the QR code, or chosen by this relay for a client that contacts a phone.
    public let tunnel: TunnelID

    /// Creates a key from its parts.
    public init(routing: RoutingID, tunnel: TunnelID) {
        self.routing = routing
        self.tunnel = tunnel
    }
}

/// A summary of a tunnel after both ends have left; nothing in it identifies a user.
public struct TunnelSummary: Hashable, Sendable {
    /// The reason for the end.
    public let reason: TunnelEndReason
    /// True if the other end joined the tunnel.
    public let wasPaired: Bool
    /// Time from the first end's arrival until the last socket closed.
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
///     new, contact           connect                  closed by an end, a limit, a shutdown
///     ────→ waiting ────────────────────→ paired ──────────────────────────→ closing ──→ removed
///              │                                                                ↑
///              └── timeout, opener closed, superseded, declined, shutdown ──────┘
///
/// Each event is a call with the current time. Results are ``CloseInstruction`` values, and a ``TunnelSummary`` after
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
        /// The end that opened the tunnel.
        let opener: TunnelSide
        var phase = Phase.waiting
        let opened: NIODeadline
        var wasPaired = false
        var bytes = 0

        // Methods that change an entry in its place: reading one property of a dictionary's value copies all of them.

        /// Adds the other end, and returns the one that waited and the side of the opener; `nil` if none waits.
        mutating func pair(with member: Member, now: NIODeadline) -> (waiting: Member?, opener: TunnelSide)? {
            guard case .waiting = phase else { return nil }
            phase = .paired(lastData: now)
            wasPaired = true
            switch opener {
            case .phone:
                client = member
                return (phone, opener)
            case .client:
                phone = member
                return (client, opener)
            }
        }

        /// Removes an end, and returns the phase.
        mutating func remove(_ side: TunnelSide, bytes: Int) -> Phase {
            switch side {
            case .phone: phone = nil
            case .client: client = nil
            }
            self.bytes += bytes
            return phase
        }
    }

    private let node: UInt16
    /// The limits; a change takes effect with the next call, even for existing tunnels.
    public var limits: RelayLimits {
        didSet { nothingDueBefore = .uptimeNanoseconds(0) }
    }
    private var entries: [TunnelIdentity: Entry] = [:]
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

    /// Number of tunnels that wait for the other end.
    public private(set) var waitingCount = 0

    /// An order to send an end a close frame and to close its connection.
    public struct CloseInstruction: Sendable {
        /// The end to close.
        public let member: Member
        /// The code of the close frame; `nil` means a close frame without a code.
        public let code: CloseCode?
        /// The response for a client that contacted a phone, if its request is still held.
        public let refusal: UpgradeRefusal?
    }

    /// Tunnels opened by clients that wait no longer, with the reason for their end, or `nil` if the phone has joined.
    ///
    /// The caller takes them after each call, so that it can forget the requests of the clients.
    public private(set) var endedWaits: [(key: TunnelIdentity, reason: TunnelEndReason?)] = []

    /// Returns the ended waits and forgets them.
    public mutating func takeEndedWaits() -> [(key: TunnelIdentity, reason: TunnelEndReason?)] {
        defer { endedWaits = [] }
        return endedWaits
    }

    /// The result of opening a tunnel.
    public struct Opening: Sendable {
        /// The tunnel's key; the phone receives its routing ID.
        public let key: TunnelIdentity
        /// Instruction for the phone that was superseded, if any.
        public let closeInstructions: [CloseInstruction]
    }

    // MARK: Opening and joining

    /// Opens a tunnel for a phone, or for a client that contacts one.
    ///
    /// - Parameters:
    ///   - tunnel: The tunnel ID.
    ///   - member: The connection of the end.
    ///   - side: The end.
    ///   - check: A random byte for the routing ID. If it is in use under this tunnel ID, the next free one is taken.
    ///   - now: The current time.
    /// - Returns: The tunnel's key and an instruction for a superseded phone, or `nil` if the table is full.
    public mutating func open(
        _ tunnel: TunnelID,
        by member: Member,
        as side: TunnelSide = .phone,
        check: UInt8,
        now: NIODeadline
    ) -> Opening? {
        guard entries.count < limits.tunnels, let routing = freeRouting(for: tunnel, from: check) else { return nil }
        let key = TunnelIdentity(routing: routing, tunnel: tunnel)
        var closeInstructions: [CloseInstruction] = []
        if let queue = waiting[tunnel], queue.count >= limits.waitingPerTunnelID, let oldest = queue.first {
            closeInstructions = end(TunnelIdentity(routing: oldest, tunnel: tunnel), .superseded)
        }
        let isPhone = side == .phone
        entries[key] = Entry(phone: isPhone ? member : nil, client: isPhone ? nil : member, opener: side, opened: now)
        waiting[tunnel, default: []].append(routing)
        waitingCount += 1
        nothingDueBefore = min(nothingDueBefore, now + min(limits.waiting, limits.lifetime))
        return Opening(key: key, closeInstructions: closeInstructions)
    }

    /// Returns the end that waits in a tunnel; `nil` if no such tunnel waits.
    public func waitingEnd(of key: TunnelIdentity) -> (member: Member, side: TunnelSide)? {
        guard let entry = entries[key], case .waiting = entry.phase,
            let member = entry.opener == .phone ? entry.phone : entry.client
        else { return nil }
        return (member, entry.opener)
    }

    /// Adds the other end to a waiting tunnel and returns the end that waited; `nil` if no such tunnel waits.
    public mutating func join(_ key: TunnelIdentity, by member: Member, now: NIODeadline) -> Member? {
        guard let place = entries.index(forKey: key),
            let (waiting, opener) = entries.values[place].pair(with: member, now: now)
        else { return nil }
        stopWaiting(key, opener, endedFor: nil)
        nothingDueBefore = min(nothingDueBefore, now + limits.idle)
        return waiting
    }

    private func freeRouting(for tunnel: TunnelID, from check: UInt8) -> RoutingID? {
        for step in 0...UInt8.max {
            let routing = RoutingID(node: node, check: check &+ step)
            if entries[TunnelIdentity(routing: routing, tunnel: tunnel)] == nil { return routing }
        }
        return nil
    }

    private mutating func stopWaiting(_ key: TunnelIdentity, _ opener: TunnelSide, endedFor reason: TunnelEndReason?) {
        waitingCount -= 1
        if opener == .client { endedWaits.append((key, reason)) }
        guard let place = waiting.index(forKey: key.tunnel) else { return }
        waiting.values[place].removeAll { $0 == key.routing }
        if waiting.values[place].isEmpty { waiting.remove(at: place) }
    }

    // MARK: Closing

    /// Records that a tunnel carried data.
    public mutating func recordData(_ key: TunnelIdentity, now: NIODeadline) {
        guard let place = entries.index(forKey: key), case .paired = entries.values[place].phase else { return }
        entries.values[place].phase = .paired(lastData: now)
    }

    /// Ends a tunnel, and returns instructions for both ends, or none if the tunnel has already ended.
    public mutating func end(_ key: TunnelIdentity, _ reason: TunnelEndReason) -> [CloseInstruction] {
        guard let place = entries.index(forKey: key) else { return [] }
        let entry = entries.values[place]
        switch entry.phase {
        case .closing: return []
        case .waiting: stopWaiting(key, entry.opener, endedFor: reason)
        case .paired: break
        }
        entries.values[place].phase = .closing(reason)
        var closeInstructions: [CloseInstruction] = []
        if let phone = entry.phone {
            closeInstructions.append(CloseInstruction(member: phone, code: reason.closeCode(for: .phone), refusal: nil))
        }
        if let client = entry.client {
            let refusal = entry.opener == .client ? reason.refusal : nil
            let code = reason.closeCode(for: .client)
            closeInstructions.append(CloseInstruction(member: client, code: code, refusal: refusal))
        }
        return closeInstructions
    }

    /// Removes an end whose socket has closed, after it sent `bytes`.
    ///
    /// - Returns: Instructions for the other end if this ended the tunnel, and a record if both ends have left.
    public mutating func leave(
        _ key: TunnelIdentity,
        _ side: TunnelSide,
        bytes: Int,
        now: NIODeadline
    ) -> (closeInstructions: [CloseInstruction], record: TunnelSummary?) {
        guard let place = entries.index(forKey: key) else { return ([], nil) }
        let closeInstructions: [CloseInstruction] =
            switch entries.values[place].remove(side, bytes: bytes) {
            case .waiting: end(key, .abandoned)
            case .paired: end(key, .vanished(side))
            case .closing: []
            }
        let entry = entries.values[place]
        guard entry.phone == nil, entry.client == nil, case .closing(let reason) = entry.phase else {
            return (closeInstructions, nil)
        }
        entries.remove(at: place)
        let record = TunnelSummary(
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
        var due: [(TunnelIdentity, TunnelEndReason)] = []
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
