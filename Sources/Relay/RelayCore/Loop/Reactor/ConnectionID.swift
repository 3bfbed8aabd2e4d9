// SPDX-License-Identifier: Apache-2.0

/// The address of a connection: its place in its event loop's table, and the number of connections that had it before.
///
/// The generation distinguishes a connection from a later one at the same place, also for events and messages that
/// arrive late.
struct ConnectionID: Hashable, Sendable {
    let slot: UInt32
    let generation: UInt32

    init(slot: UInt32, generation: UInt32) { (self.slot, self.generation) = (slot, generation) }

    /// Creates an ID from ``number``.
    init(number: UInt64) {
        (slot, generation) = (UInt32(truncatingIfNeeded: number), UInt32(truncatingIfNeeded: number >> 32))
    }

    /// The ID as one number, for the kernel's events.
    var number: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    /// The ID of the next connection at the same place.
    ///
    /// The highest bit of a generation stays 0, which distinguishes connections from other sources of events.
    var successor: ConnectionID { ConnectionID(slot: slot, generation: (generation &+ 1) & 0x7FFF_FFFF) }
}

/// A queue of connections.
struct ConnectionQueue {
    private var ids: [ConnectionID] = []
    private var start = 0

    var first: ConnectionID? { start < ids.count ? ids[start] : nil }

    mutating func append(_ id: ConnectionID) { ids.append(id) }

    @discardableResult
    mutating func popFirst() -> ConnectionID? {
        guard let first else { return nil }
        start += 1
        // Half of the memory stays unused at most.
        if start * 2 >= ids.count {
            ids.removeFirst(start)
            start = 0
        }
        return first
    }
}
