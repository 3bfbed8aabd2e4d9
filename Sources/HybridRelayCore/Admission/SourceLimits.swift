// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What one source may have, and how many sources are remembered.
public struct SourceLimits: Sendable, Hashable {
    /// Most connections that a source may have at once; 0 is no limit.
    public var open: Int
    /// Most tunnels that a source may open within a minute; 0 is no limit.
    ///
    /// They may be opened all at once. After that each comes back in its share of a minute.
    public var newPerMinute: Int
    /// Most sources that are remembered though they have no connection, because they have opened tunnels a moment ago.
    public var remembered: Int

    /// The defaults fit many people behind one address.
    public init(open: Int = 64, newPerMinute: Int = 60, remembered: Int = 65_536) {
        self.open = open
        self.newPerMinute = newPerMinute
        self.remembered = remembered
    }

    /// What opening a tunnel takes from a source's bucket, as the time in which it flows back.
    var costOfOpening: TimeAmount { .nanoseconds(max(1, Self.minute / Int64(max(1, newPerMinute)))) }

    /// What a full bucket holds.
    var bucket: TimeAmount { costOfOpening * Int(min(Int64(max(1, newPerMinute)), Self.minute)) }

    private static let minute = TimeAmount.minutes(1).nanoseconds
}
