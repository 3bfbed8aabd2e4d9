// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The monotonic clock in microseconds, as sd-bus counts.
enum BusClock {
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }

    static func deadline(after duration: Duration) -> UInt64 {
        let parts = duration.components
        guard parts.seconds >= 0, parts.attoseconds >= 0 else { return now }
        // A year stands for "never"; it keeps the sum far from overflow.
        return now + UInt64(min(parts.seconds, 31_536_000)) * 1_000_000
            + UInt64(parts.attoseconds / 1_000_000_000_000)
    }
}
