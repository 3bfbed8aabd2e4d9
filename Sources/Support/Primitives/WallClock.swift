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

/// The text of a time in UTC.
package enum UTCTime {
    /// Returns a time in the form `2026-01-31T12:00:00Z`.
    package static func text(_ secondsSince1970: UInt64) -> String {
        var seconds = time_t(clamping: secondsSince1970)
        var parts = tm()
        guard gmtime_r(&seconds, &parts) != nil else { return "\(secondsSince1970)" }
        func two(_ number: CInt) -> String { (number < 10 ? "0" : "") + "\(number)" }
        let date = "\(Int(parts.tm_year) + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
        return "\(date)T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }
}
