// SPDX-License-Identifier: Apache-2.0

/// How often the PIN was wrong in a row, and how long to wait for that.
///
/// It is written before a PIN is judged, so that pulling the plug does not save an attempt. Only the time of
/// the last attempt is kept, never the end of a wait: a clock that was set back can start the wait anew but
/// never make it longer.
///
/// File: magic (8) ‖ format (2) ‖ wrong in a row (4) ‖ seconds since 1970 (8) ‖ SHA-256 of all before (32).
struct AttemptCounter: Equatable, Sendable {
    /// Name of the file in the local state.
    static let fileName = "attempts"
    /// The only length there is.
    static let length = 54
    /// So many wrong PINs cost no wait.
    static let free: UInt32 = 5
    /// The longest wait, in seconds.
    static let longestWait: UInt64 = 3600

    private static let magic = Array("HYBTRIES".utf8)

    /// Wrong PINs since the last right one.
    private(set) var wrong: UInt32 = 0
    /// When the last PIN was tried, in seconds since 1970 on this device's clock.
    private(set) var last: UInt64 = 0

    /// Nothing was wrong yet.
    init() {}

    /// Reads the file; `nil` for any other length or checksum.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.length, Sealing.checksum(Array(bytes.dropLast(32))) == Array(bytes.suffix(32)) else {
            return nil
        }
        var reader = FieldReader(bytes)
        guard reader.take(exactly: Self.magic), reader.take(UInt16.self) == VaultIdentity.format,
            let wrong = reader.take(UInt32.self), let last = reader.take(UInt64.self)
        else { return nil }
        self.wrong = wrong
        self.last = last
    }

    /// The content of the file.
    var bytes: [UInt8] {
        var bytes = Self.magic
        bytes.append(bigEndian: VaultIdentity.format)
        bytes.append(bigEndian: wrong)
        bytes.append(bigEndian: last)
        return bytes + Sealing.checksum(bytes)
    }

    /// How many PINs may be wrong before a wait; 0 when the next wrong one, or the last, costs one.
    var left: Int { Int(Self.free) - Int(min(wrong, Self.free)) }

    /// Seconds to wait after the last attempt: none, then 30, doubling up to an hour.
    var wait: UInt64 {
        guard wrong >= Self.free else { return 0 }
        let doublings = min(wrong - Self.free, 7)
        return min(30 << UInt64(doublings), Self.longestWait)
    }

    /// Seconds still to wait; a clock that stands before the last attempt starts the wait anew.
    mutating func remaining(now: UInt64) -> UInt64 {
        guard wait > 0 else { return 0 }
        if now < last { last = now }
        let gone = now - last
        return gone >= wait ? 0 : wait - gone
    }

    /// Counts an attempt, before it is judged.
    mutating func begin(now: UInt64) {
        if wrong < .max { wrong += 1 }
        last = now
    }
}
