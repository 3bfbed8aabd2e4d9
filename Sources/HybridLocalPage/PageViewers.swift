// SPDX-License-Identifier: Apache-2.0

/// Whether anybody looks at the page: counts event streams, apart from clocks.
struct PageViewers {
    /// The moment at which nobody looked any more.
    struct Departure: Equatable, Sendable {
        fileprivate let number: Int
    }

    private var streams = 0
    private var departures = 0

    /// A stream begins.
    mutating func join() { streams += 1 }

    /// A stream ends; returns the departure if it was the last.
    mutating func leave() -> Departure? {
        streams -= 1
        guard streams == 0 else { return nil }
        departures += 1
        return Departure(number: departures)
    }

    /// Whether nobody has looked since: neither now nor for a moment in between, from which time is counted anew.
    func isStillEmpty(since departure: Departure) -> Bool { streams == 0 && departure.number == departures }
}
