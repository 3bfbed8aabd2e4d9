// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A source of the current time; a value, so that tests can replace it.
package struct WallClock: Sendable {
    /// Returns the current time in seconds since 1970.
    package let now: @Sendable () -> UInt64

    /// Creates a clock from a function that returns seconds since 1970.
    package init(now: @escaping @Sendable () -> UInt64) { self.now = now }

    /// The system clock, which users may set back.
    package static let realtime = WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(clamping: time.tv_sec)
    }
}
