// SPDX-License-Identifier: Apache-2.0

private import CHybridMalloc
private import Glibc
private import HybridCommandSupport

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

    /// Unmaps the program's code, most of which only the start needed, because it counts as memory of the process.
    ///
    /// Code that runs again is mapped again.
    static func releaseCode() {
        guard let maps = try? readWholeFile("/proc/self/maps", atMost: 1 << 20) else { return }
        // 7f0c0000-7f0d0000 r-xp 00000000 fe:00 4711 /usr/bin/hybrid-relay
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 5, fields[1] == "r-xp", fields[5].hasPrefix("/") else { continue }
            let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard ends.count == 2, ends[0] < ends[1] else { continue }
            madvise(UnsafeMutableRawPointer(bitPattern: ends[0]), Int(ends[1] - ends[0]), MADV_DONTNEED)
        }
    }

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
