// SPDX-License-Identifier: Apache-2.0

/// Number of consecutive wrong PINs, and the resulting wait.
///
/// It is written before a PIN is tried, so cutting the power does not undo the count. The time of the last attempt is
/// stored instead of the end of the wait. Setting the clock back can therefore restart the wait but never extend it.
///
/// File: magic (8) ‖ format (2) ‖ wrong PINs (4) ‖ seconds since 1970 (8) ‖ SHA-256 of the preceding bytes (32).
struct AttemptCounter: Equatable, Sendable {
    /// File name in the local state.
    static let fileName = "attempts"
    /// Length in bytes.
    static let length = 54
    /// Number of consecutive wrong PINs that causes the first wait.
    static let free: UInt32 = 5
    /// Longest wait, in seconds.
    static let longestWait: UInt64 = 3600

    private static let magic = Array("HYBTRIES".utf8)

    /// Wrong PINs since the last correct one.
    private(set) var wrong: UInt32 = 0
    /// Time of the last attempt in seconds since 1970, by this device's clock.
    private(set) var last: UInt64 = 0

    /// Creates a counter with no wrong PINs.
    init() {}

    /// Parses the file; `nil` if its length or checksum is wrong.
    init?(bytes: [UInt8]) {
        guard var reader = BinaryFieldReader(checksummed: bytes, length: Self.length, magic: Self.magic),
            let wrong = reader.take(UInt32.self), let last = reader.take(UInt64.self)
        else { return nil }
        self.wrong = wrong
        self.last = last
    }

    /// Contents of the file.
    var bytes: [UInt8] {
        var bytes: [UInt8] = .header(magic: Self.magic)
        bytes.append(bigEndian: wrong)
        bytes.append(bigEndian: last)
        return bytes.checksummed
    }

    /// Number of wrong PINs until the first wait; 0 from then on, until a PIN is correct.
    var left: Int { Int(Self.free) - Int(min(wrong, Self.free)) }

    /// Seconds to wait after the last attempt: 0 at first, then 30, doubling up to an hour.
    var wait: UInt64 {
        guard wrong >= Self.free else { return 0 }
        let doublings = min(wrong - Self.free, 7)
        return min(30 << UInt64(doublings), Self.longestWait)
    }

    /// Returns the remaining seconds of the wait.
    ///
    /// If the clock is earlier than the last attempt, the wait restarts.
    mutating func remaining(now: UInt64) -> UInt64 {
        guard wait > 0 else { return 0 }
        if now < last { last = now }
        let gone = now - last
        return gone >= wait ? 0 : wait - gone
    }

    /// Counts an attempt before it is made.
    mutating func begin(now: UInt64) {
        if wrong < .max { wrong += 1 }
        last = now
    }
}
