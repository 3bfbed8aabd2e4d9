// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// What each source has open and has opened lately: a pure state machine without sockets and clock.
///
/// Each call takes the same time however many sources there are, but for ``sweep(now:)``.
///
/// *Memory.* A source with a connection has an entry; the relay's limit on connections bounds those. Behind its last
/// connection an entry stays until its bucket is full again, a minute at most; of those there are at most
/// `limits.remembered`. Where that is not enough, the next source is forgotten as soon as it has no connection, and so
/// may open as many tunnels again when it comes back. That is right: so many sources at once are one party with many
/// addresses, or many parties. Neither can be held back by a limit for one source; refusing whoever is not in the table
/// would let them lock everybody out. What all may have together is still bounded by the relay's other limits, and the
/// connections that a source has are always counted.
public struct SourceTable: Sendable {
    private struct Entry {
        var connections = 0
        /// When the bucket is full again; in the past if it is.
        ///
        /// A bucket that fills at a steady rate needs no other number: how long it still takes tells how much is in it.
        var fullAt = NIODeadline.uptimeNanoseconds(0)
    }

    /// What a source may have; a change counts from the next call on, for what is open already, too.
    public var limits: SourceLimits

    private var entries: [SourcePrefix: Entry] = [:]
    /// Entries without a connection.
    private var remembered = 0
    /// The latest time that the table was told.
    private var latest = NIODeadline.uptimeNanoseconds(0)
    /// No bucket of a source without connection is full before this, so a sweep before it has nothing to look for.
    private var nothingDueBefore = NIODeadline.distantFuture

    /// An empty table.
    public init(limits: SourceLimits) {
        self.limits = limits
    }

    /// Sources that have an entry.
    public var count: Int { entries.count }

    /// A connection begins; `false` if its source has as many as it may, and then it does not count.
    public mutating func arrive(_ source: SourcePrefix) -> Bool {
        let known = entries[source]
        var entry = known ?? Entry()
        guard limits.open <= 0 || entry.connections < limits.open else { return false }
        if known?.connections == 0 { remembered -= 1 }
        entry.connections += 1
        entries[source] = entry
        return true
    }

    /// A connection that has arrived is closed.
    public mutating func leave(_ source: SourcePrefix) {
        guard var entry = entries[source], entry.connections > 0 else { return }
        entry.connections -= 1
        guard entry.connections == 0 else {
            entries[source] = entry
            return
        }
        entries[source] = nil
        remember(source, entry)
    }

    /// Whether a source may open a tunnel now; if so, it has.
    public mutating func mayOpen(_ source: SourcePrefix, now: NIODeadline) -> Bool {
        latest = max(latest, now)
        guard limits.newPerMinute > 0 else { return true }
        let known = entries[source]
        var entry = known ?? Entry()
        let fullAt = max(entry.fullAt, now) + limits.costOfOpening
        guard fullAt - now <= limits.bucket else { return false }
        entry.fullAt = fullAt
        if known == nil {
            remember(source, entry)
        } else {
            entries[source] = entry
        }
        return true
    }

    /// Forgets the sources that have no connection and a full bucket.
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

    /// Keeps an entry without connections, which is not in the table, if it says anything and there is room.
    private mutating func remember(_ source: SourcePrefix, _ entry: Entry) {
        guard entry.fullAt > latest, remembered < limits.remembered else { return }
        entries[source] = entry
        remembered += 1
        nothingDueBefore = min(nothingDueBefore, entry.fullAt)
    }
}
