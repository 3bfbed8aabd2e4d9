// SPDX-License-Identifier: Apache-2.0

private import CHybridMalloc

/// A trimmer that returns memory to the system after a peak of connections.
///
/// glibc keeps freed memory between blocks that are still in use, without a time limit. Without trimming, the memory
/// usage of a relay would never decrease.
struct MemoryTrimmer {
    /// Number of connections below which trimming is not worthwhile while others are open.
    private static let peakThreshold = 100

    /// Number of connections below which trimming is not worthwhile when none is open.
    ///
    /// It is lower, because the last trim of a peak may have happened with `peakThreshold` connections left.
    private static let idleThreshold = 10

    private var peak = 0
    private var acceptedAtLastTrim = 0

    /// Limits the number of glibc's heaps.
    ///
    /// Otherwise, every thread that allocates gets a heap of its own, which keeps its memory.
    ///
    /// - Parameter threads: The number of threads that carry tunnels, which should not wait for each other.
    static func limitHeaps(threads: Int) { mallopt(M_ARENA_MAX, CInt(clamping: threads + 1)) }

    /// Trims the heap if most of the connections of a peak are gone.
    ///
    /// - Parameters:
    ///   - connections: The number of open connections.
    ///   - accepted: The number of connections since the start.
    mutating func trimAfterPeak(connections: Int, accepted: Int) {
        peak = max(peak, connections)
        let threshold = connections == 0 ? Self.idleThreshold : Self.peakThreshold
        guard accepted - acceptedAtLastTrim >= threshold || peak >= threshold, connections <= peak / 2 else { return }
        peak = connections
        acceptedAtLastTrim = accepted
        malloc_trim(0)
    }
}
