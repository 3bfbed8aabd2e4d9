// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Limits for each source, and for the table's memory.
public struct SourceLimits: Sendable, Hashable {
    /// Maximum number of open connections of a source; 0 means no limit.
    ///
    /// Phones may take all but an eighth of them.
    public var open: Int
    /// Maximum number of connections that a source may open in a minute; 0 means no limit.
    ///
    /// A failed request and a wrong token count as further connections.
    public var connectionsPerMinute: Int
    /// Maximum number of tunnels that a source may open in a minute; 0 means no limit.
    public var newPerMinute: Int
    /// Maximum number of open connections that are phones listening for wake-ups; 0 means no limit.
    public var listeners: Int
    /// The limits of an IPv6 /48, as a multiple of those of a /64; 0 means no limits for networks.
    ///
    /// Those of a /40 are twice as high, those of a /32 four times.
    public var networkFactor: Int
    /// Maximum number of sources without a connection that are remembered because their buckets are not full.
    public var remembered: Int

    /// Creates limits; the defaults suit many users behind one address.
    public init(
        open: Int = 64,
        connectionsPerMinute: Int = 240,
        newPerMinute: Int = 60,
        listeners: Int = 32,
        networkFactor: Int = 8,
        remembered: Int = 65_536
    ) {
        self.open = open
        self.connectionsPerMinute = connectionsPerMinute
        self.newPerMinute = newPerMinute
        self.listeners = listeners
        self.networkFactor = networkFactor
        self.remembered = remembered
    }

    /// Returns the number of connections that phones cannot take from clients: an eighth, rounded down.
    ///
    /// A phone waits for up to two minutes, and an attacker's phones wait for no client. Without a reserve, they would
    /// take all connections, and the client of a phone that was already waiting could not join it. The reserve is needed
    /// only for clients whose phones are connected, so an eighth is enough: of 21,000 connections, 2,625 clients at once.
    /// A larger one would refuse phones of mobile networks, where many share an address and few clients do.
    static func clientShare(of connections: Int) -> Int { connections / 8 }
}

/// Open connections, recent connections and recent tunnels of each source: a pure state machine without sockets or a
/// clock.
///
/// Each connection counts for its source and, if that is an IPv6 /64, for the /48, /40 and /32 around it, whose limits
/// are multiples (``SourceLimits/networkFactor``). An attacker with one /48 would otherwise have 65,536 sources, and
/// one with a /32 as many /48s. Token buckets limit new connections and new tunnels. Each call takes constant time,
/// however many sources there are.
///
/// *Memory.* A source or network with a connection has an entry; the relay's limit on connections bounds the number of those
/// entries. After the last connection has closed, the entry stays until its buckets are full again, for at most four
/// minutes. At most `limits.remembered` such entries are kept. Beyond that, the oldest are dropped, and such a source has
/// full buckets when it returns. Then there are either many parties or one party with many addresses, and a limit for
/// each source stops neither. If unknown sources were refused instead, an attacker with many addresses could lock out all
/// users. The relay's other limits still bound the total, and open connections are always counted. An entry takes about
/// 100 bytes in the table, so 21,000 IPv6 connections and 65,536 other sources need about 10 MiB.
public struct SourceTable: Sendable {
    /// The limit that rejects a connection.
    public enum Rejection: Error, Hashable, Sendable {
        /// Open connections of the source.
        case source
        /// Open connections of one of the IPv6 networks.
        case network
        /// New connections of the source or of one of its networks in a minute.
        case rate
    }

    /// Limits for each source; a change takes effect with the next call, even for open connections.
    public var limits: SourceLimits {
        didSet { (own, networks) = Self.tiers(limits) }
    }

    private var own: SourceTier
    /// The limits of the networks around a /64, in the order of ``SourcePrefix/networkLengths``.
    private var networks: [SourceTier]
    /// Sources and networks with a connection.
    private var connected: [SourcePrefix: Entry] = [:]
    private var recent = RecentSources()
    /// Latest time passed to the table.
    private var latest = NIODeadline.uptimeNanoseconds(0)
    private var nextAging = NIODeadline.uptimeNanoseconds(0)

    /// The longest time until the buckets of an entry are full: one capacity, and as much debt.
    private static let longestRefill = TimeAmount.minutes(2)

    /// Creates an empty table.
    public init(limits: SourceLimits) {
        self.limits = limits
        (own, networks) = Self.tiers(limits)
    }

    private static func tiers(_ limits: SourceLimits) -> (own: SourceTier, networks: [SourceTier]) {
        let networks = SourcePrefix.networkLengths.indices.map { index in
            let (factor, overflow) = limits.networkFactor.multipliedReportingOverflow(by: 1 << index)
            // An unlimited network is counted, too, so that a limit set later finds the right numbers.
            return limits.networkFactor > 0 ? SourceTier(limits, times: overflow ? .max : factor) : .unlimited
        }
        return (SourceTier(limits, times: 1), networks)
    }

    /// Number of sources and networks that have an entry.
    public var count: Int { connected.count + recent.count }

    // MARK: Connections

    /// Counts a new connection.
    ///
    /// - Throws: ``Rejection`` if the source or its network has reached a limit. Then the connection is not counted.
    public mutating func addConnection(from source: SourcePrefix, now: NIODeadline) throws(Rejection) {
        latest = max(latest, now)
        guard satisfies(source, { $0.connections < $1.open }) else { throw .source }
        guard networksSatisfy(source, { $0.connections < $1.open }) else { throw .network }
        let isWithinRate: (Entry, SourceTier) -> Bool = { $0.arrivals.hasRoom(for: $1.arrivals, now: now) }
        guard satisfies(source, isWithinRate), networksSatisfy(source, isWithinRate) else { throw .rate }
        update(source) { entry, tier in
            entry.connections += 1
            entry.arrivals.take(1, of: tier.arrivals, now: now)
        }
    }

    /// Stops counting a connection that has closed.
    ///
    /// - Parameters:
    ///   - source: The source of the connection.
    ///   - isPhone: True if ``admitTunnel(from:isListener:now:)`` admitted it.
    ///   - isListener: True if it was admitted as a listener.
    public mutating func removeConnection(from source: SourcePrefix, isPhone: Bool, isListener: Bool = false) {
        update(source) { entry, _ in
            entry.connections = max(0, entry.connections - 1)
            if isPhone { entry.phones = max(0, entry.phones - 1) }
            if isListener { entry.listeners = max(0, entry.listeners - 1) }
        }
    }

    /// Counts a failed request of an open connection as further connections.
    ///
    /// In all, failures use up at most half of the rate: other users behind the same address need the rest.
    public mutating func charge(_ source: SourcePrefix, connections: Int, now: NIODeadline) {
        latest = max(latest, now)
        update(source) { entry, tier in entry.arrivals.charge(connections, of: tier.arrivals, now: now) }
    }

    // MARK: Tunnels

    /// Counts an open connection as a phone and takes one tunnel from the buckets of its source and network.
    ///
    /// - Parameters:
    ///   - source: The source of the connection.
    ///   - isListener: True for a phone that listens for wake-ups, which counts as a listener, too.
    ///   - now: The current time.
    /// - Returns: False if the source or its network has opened too many tunnels recently, if its phones have taken
    ///   all connections but those reserved for clients, or if it has too many listeners.
    public mutating func admitTunnel(from source: SourcePrefix, isListener: Bool = false, now: NIODeadline) -> Bool {
        latest = max(latest, now)
        let rule: (Entry, SourceTier) -> Bool = { entry, tier in
            entry.phones < tier.phones && entry.tunnels.hasRoom(for: tier.tunnels, now: now)
                && (!isListener || entry.listeners < tier.listeners)
        }
        guard satisfies(source, rule), networksSatisfy(source, rule) else { return false }
        update(source) { entry, tier in
            entry.phones += 1
            if isListener { entry.listeners += 1 }
            entry.tunnels.take(1, of: tier.tunnels, now: now)
        }
        return true
    }

    /// Returns true if the source or one of its networks has used up more than an eighth of its rate of tunnels.
    func opensMany(_ source: SourcePrefix, now: NIODeadline) -> Bool {
        let rule: (Entry, SourceTier) -> Bool = { !$0.tunnels.hasUsed(moreThan: 1, of: $1.tunnels, now: now) }
        return !satisfies(source, rule) || !networksSatisfy(source, rule)
    }

    // MARK: Entries

    /// Drops entries whose buckets have become full again; called about once a second.
    public mutating func sweep(now: NIODeadline) {
        latest = max(latest, now)
        guard latest >= nextAging else { return }
        nextAging = latest + Self.longestRefill
        recent.age()
    }

    private func satisfies(_ source: SourcePrefix, _ rule: (Entry, SourceTier) -> Bool) -> Bool {
        rule(entry(of: source), own)
    }

    private func networksSatisfy(_ source: SourcePrefix, _ rule: (Entry, SourceTier) -> Bool) -> Bool {
        for (index, bits) in SourcePrefix.networkLengths.enumerated() {
            guard let prefix = source.network(bits) else { return true }
            guard rule(entry(of: prefix), networks[index]) else { return false }
        }
        return true
    }

    private func entry(of source: SourcePrefix) -> Entry { connected[source] ?? recent[source] ?? Entry() }

    /// Changes the entries of a source and of its networks.
    private mutating func update(_ source: SourcePrefix, _ change: (inout Entry, SourceTier) -> Void) {
        update(source, own, change)
        for (index, bits) in SourcePrefix.networkLengths.enumerated() {
            guard let prefix = source.network(bits) else { return }
            update(prefix, networks[index], change)
        }
    }

    private mutating func update(
        _ source: SourcePrefix,
        _ tier: SourceTier,
        _ change: (inout Entry, SourceTier) -> Void
    ) {
        var entry = entry(of: source)
        let wasConnected = entry.connections > 0
        change(&entry, tier)
        if entry.connections > 0 {
            connected[source] = entry
            if !wasConnected { recent.remove(source) }
        } else {
            if wasConnected { connected[source] = nil }
            if entry.isRemarkable(at: latest) {
                recent.insert(source, entry, capacity: limits.remembered)
            } else if !wasConnected {
                recent.remove(source)
            }
        }
    }
}

/// The limits of a source or of a network.
private struct SourceTier {
    let open: Int
    /// Maximum number of connections that are phones.
    let phones: Int
    /// Maximum number of connections that are listeners.
    let listeners: Int
    let arrivals: EventRate
    let tunnels: EventRate

    static let unlimited = SourceTier(
        SourceLimits(open: 0, connectionsPerMinute: 0, newPerMinute: 0, listeners: 0),
        times: 1
    )

    init(_ limits: SourceLimits, times factor: Int) {
        func product(_ limit: Int) -> Int {
            let (product, overflow) = limit.multipliedReportingOverflow(by: factor)
            return overflow ? .max : product
        }
        let open = product(limits.open)
        self.open = open > 0 ? open : .max
        phones = self.open - SourceLimits.clientShare(of: self.open)
        listeners = limits.listeners > 0 ? product(limits.listeners) : .max
        arrivals = EventRate(perMinute: product(limits.connectionsPerMinute))
        tunnels = EventRate(perMinute: product(limits.newPerMinute))
    }
}

/// The state of a source or of a network.
private struct Entry {
    var connections = 0
    /// Number of connections that are phones.
    var phones = 0
    /// Number of connections that are listeners.
    var listeners = 0
    var arrivals = RateBucket()
    var tunnels = RateBucket()

    /// True if a bucket is not full; otherwise, an entry without connections is like a new one.
    func isRemarkable(at now: NIODeadline) -> Bool { arrivals.fullAt > now || tunnels.fullAt > now }
}

/// Entries without connections, in two generations.
///
/// When the younger generation is full, or after some time, it becomes the older one, and the older one is dropped.
private struct RecentSources {
    private var younger: [SourcePrefix: Entry] = [:]
    private var older: [SourcePrefix: Entry] = [:]

    var count: Int { younger.count + older.count }

    subscript(source: SourcePrefix) -> Entry? {
        // Most relays have few sources.
        if count == 0 { return nil }
        return younger[source] ?? older[source]
    }

    mutating func insert(_ source: SourcePrefix, _ entry: Entry, capacity: Int) {
        remove(source)
        guard capacity > 0 else { return }
        if younger.count >= max(1, capacity / 2) { age() }
        younger[source] = entry
    }

    mutating func remove(_ source: SourcePrefix) {
        if count > 0, younger.removeValue(forKey: source) == nil { older[source] = nil }
    }

    mutating func age() { (older, younger) = (younger, [:]) }
}
