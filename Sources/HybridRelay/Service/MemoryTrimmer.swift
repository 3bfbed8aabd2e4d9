// SPDX-License-Identifier: Apache-2.0

private import CHybridMalloc

/// Gives the system back what a crowd has used, once the crowd is gone.
///
/// glibc keeps freed memory between blocks that are still in use, for ever if need be; a relay would look as large as
/// on its busiest day.
struct MemoryTrimmer {
    /// Fewer connections than this don't leave enough to look for.
    private static let crowd = 100

    private var most = 0
    private var arrivalsBefore = 0

    /// Keeps glibc from giving every thread that ever asks for memory a heap of its own, which keeps what it got.
    ///
    /// - Parameter threads: those that carry tunnels, and need not wait for each other.
    static func limitHeaps(threads: Int) { mallopt(M_ARENA_MAX, CInt(clamping: threads + 1)) }

    /// To be called from time to time, and not on an event loop: for some milliseconds others may have to wait for memory.
    ///
    /// - Parameters:
    ///   - connections: those there are.
    ///   - arrivals: those there have ever been.
    mutating func look(connections: Int, arrivals: Int) {
        most = max(most, connections)
        guard arrivals - arrivalsBefore >= Self.crowd || most >= Self.crowd, connections <= most / 2 else { return }
        most = connections
        arrivalsBefore = arrivals
        malloc_trim(0)
    }
}
