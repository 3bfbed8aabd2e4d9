// SPDX-License-Identifier: Apache-2.0

/// The numbers of the wake-ups of a link that were counted: the highest, and which of the 63 below it.
///
/// A number is counted once. Numbers below the window are rejected, so that a relay cannot repeat an old wake-up. The
/// window lets wake-ups arrive out of order, because a computer may send several at the same time.
struct WakeUpNumbers: Hashable, Sendable {
    /// Number of values in the window.
    static let window: UInt64 = 64

    /// The highest number that was counted; 0 if there was none.
    private(set) var highest: UInt64
    /// A bit for each number in the window that was counted, the least significant for the highest number.
    private(set) var counted: UInt64

    /// Creates the numbers of a link, at first none.
    init(highest: UInt64 = 0, counted: UInt64 = 0) { (self.highest, self.counted) = (highest, counted) }

    /// Returns true if a number can be counted.
    func isNew(_ number: UInt64) -> Bool {
        guard number <= highest else { return true }
        let distance = highest - number
        return distance < Self.window && counted & 1 << distance == 0
    }

    /// Counts a number; returns false if it was counted before, or is too old.
    mutating func count(_ number: UInt64) -> Bool {
        guard isNew(number) else { return false }
        if number > highest {
            let distance = number - highest
            counted = distance < Self.window ? counted << distance : 0
            highest = number
        }
        counted |= 1 << (highest - number)
        return true
    }
}
