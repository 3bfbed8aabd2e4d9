// SPDX-License-Identifier: Apache-2.0

private import CMalloc

/// Gives the system back what a crowd has used, once the crowd is gone.
///
/// glibc keeps freed memory between blocks that are still in use, for ever if need be; a relay would look as large as
/// on its busiest day.
struct MemoryReturn {
    /// Fewer connections than this don't leave enough to look for.
    private static let crowd = 100

    private var most = 0

    /// To be called from time to time, and not on an event loop: for some milliseconds others may have to wait for memory.
    mutating func look(connections: Int) {
        most = max(most, connections)
        guard most >= Self.crowd, connections <= most / 2 else { return }
        most = connections
        malloc_trim(0)
    }
}
