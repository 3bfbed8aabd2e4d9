// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The time of day; only for telling how old a QR is.
public enum WallClock {
    /// Seconds since 1970.
    public static var secondsSince1970: Int { time(nil) }
}
