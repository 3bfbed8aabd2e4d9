// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Seconds since 1970; a parameter, so that tests need not wait.
struct WallClock: Sendable {
    /// The time now.
    let now: @Sendable () -> UInt64

    /// The system's clock, which may be set back.
    static let realtime = WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(clamping: time.tv_sec)
    }
}
