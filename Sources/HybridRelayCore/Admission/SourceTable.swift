// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Limits for each source, and for the table's memory.
public struct SourceLimits: Sendable, Hashable {
    /// Maximum number of open connections of a source; 0 means no limit.
    public var open: Int
    /// Maximum number of tunnels that a source may open in a minute; 0 means no limit.
    ///
    /// All of them may be opened at once; then each becomes available again after its share of a minute.
    public var newPerMinute: Int
    /// Maximum number of sources without a connection that are remembered because they have recently opened tunnels.
    public var remembered: Int

    /// Creates limits; the defaults suit many users behind one address.
    public init(open: Int = 64, newPerMinute: Int = 60, remembered: Int = 65_536) {
        self.open = open
        self.newPerMinute = newPerMinute
        self.remembered = remembered
    }

    /// The cost of one tunnel: the time in which the bucket regains it.
    var tunnelCost: TimeAmount { .nanoseconds(max(1, Self.minute / Int64(max(1, newPerMinute)))) }

    /// The capacity of a bucket: the time in which an empty bucket becomes full.
    var bucket: TimeAmount { tunnelCost * Int(min(Int64(max(1, newPerMinute)), Self.minute)) }

    private static let minute = TimeAmount.minutes(1).nanoseconds
}

/// Open connections and recent tunnels of each source: a pure state machine without sockets or a clock.
///
/// A token bucket for each source limits new tunnels. Each call except ``sweep(now:)`` takes constant time, however
/// many sources there are.
///
/// *Memory.* A source with a connection has an entry; the relay's limit on connections bounds the number of those
/// entries. After the last connection has closed, the entry stays until its bucket is full again, for at most one
/// minute. At most `limits.remembered` such entries are kept. Beyond that, a source is forgotten when its last
/// connection closes, and has a full bucket when it returns. Then there are either many parties or one party with many
/// addresses, and a limit for each source stops neither. If unknown sources were refused instead, an attacker with many
/// addresses could lock out all users. The relay's other limits still bound the total, and open connections are always
/// counted.
public struct SourceTable: Sendable {
    private struct Entry {
        var connections = 0
        /// Time when the bucket is full again; in the past if it is full.
        ///
        /// No other number is needed: the bucket fills at a steady rate, so the remaining time determines its level.
        var fullAt = NIODeadline.uptimeNanoseconds(0)
    }

    /// Limits for each source; a change takes effect with the next call, even for open connections.
    public var limits: SourceLimits

    private var entries: [SourcePrefix: Entry] = [:]
    /// Number of entries without a connection.
    private var remembered = 0
    /// Latest time passed to the table.
    private var latest = NIODeadline.uptimeNanoseconds(0)
    /// Lower bound for the time when a source without connections has a full bucket; an earlier sweep does nothing.
    private var nothingDueBefore = NIODeadline.distantFuture

    /// Creates an empty table.
    public init(limits: SourceLimits) {
        self.limits = limits
    }

    /// Number of sources that have an entry.
    public var count: Int { entries.count }

    /// Counts a new connection.
    ///
    /// - Returns: False if the source has reached its limit. In that case, the connection is not counted.
    public mutating func addConnection(from source: SourcePrefix) -> Bool {
        let known = entries[source]
        var entry = known ?? Entry()
        guard limits.open <= 0 || entry.connections < limits.open else { return false }
        if known?.connections == 0 { remembered -= 1 }
        entry.connections += 1
        entries[source] = entry
        return true
    }

    /// Stops counting a connection that has closed.
    public mutating func removeConnection(from source: SourcePrefix) {
        guard var entry = entries[source], entry.connections > 0 else { return }
        entry.connections -= 1
        guard entry.connections == 0 else {
            entries[source] = entry
            return
        }
        entries[source] = nil
        remember(source, entry)
    }

    /// Takes one tunnel from the source's bucket.
    ///
    /// - Returns: False if the source has opened too many tunnels recently.
    public mutating func admitTunnel(from source: SourcePrefix, now: NIODeadline) -> Bool {
        latest = max(latest, now)
        guard limits.newPerMinute > 0 else { return true }
        let known = entries[source]
        var entry = known ?? Entry()
        let fullAt = max(entry.fullAt, now) + limits.tunnelCost
        guard fullAt - now <= limits.bucket else { return false }
        entry.fullAt = fullAt
        if known == nil {
            remember(source, entry)
        } else {
            entries[source] = entry
        }
        return true
    }

    /// Removes the sources that have no connection and a full bucket.
    public mutating func sweep(now: NIODeadline) {
        latest = max(latest, now)
        guard latest >= nothingDueBefore else { return }
        var due: [SourcePrefix] = []
        var next = NIODeadline.distantFuture
        for (source, entry) in entries where entry.connections == 0 {
            if entry.fullAt <= latest {
                due.append(source)
            } else {
                next = min(next, entry.fullAt)
            }
        }
        nothingDueBefore = next
        remembered -= due.count
        for source in due { entries[source] = nil }
    }

    /// Adds an entry without connections to the table, unless its bucket is full or there is no room.
    private mutating func remember(_ source: SourcePrefix, _ entry: Entry) {
        guard entry.fullAt > latest, remembered < limits.remembered else { return }
        entries[source] = entry
        remembered += 1
        nothingDueBefore = min(nothingDueBefore, entry.fullAt)
    }
}
