// SPDX-License-Identifier: Apache-2.0

/// The wake-ups that a relay or push service may deliver before it is not heard for a while.
///
/// An honest one delivers few that are ignored: a wake-up that is old, or one of a computer whose clock is wrong. Each
/// costs this device some work, and a hostile relay could deliver thousands in a second. Time alone renews a budget, not
/// a new connection, because a relay can end a connection whenever it likes.
struct WakeUpBudget: Sendable {
    /// Number of ignored wake-ups within ``period`` after which the budget is spent.
    static let maximumIgnored = 10
    /// Number of wake-ups of any kind within ``period`` after which the budget is spent: more than six a minute, or many
    /// repetitions of one.
    static let maximumReceived = 100
    /// Time for which a wake-up counts, and for which a spent budget stays so after the last one.
    static let period = Duration.seconds(600)

    /// The times of the last wake-ups of a kind, oldest first.
    private struct Times {
        let maximum: Int
        private var values: [ContinuousClock.Instant] = []

        init(maximum: Int) { self.maximum = maximum }

        mutating func add(_ now: ContinuousClock.Instant) {
            values.removeAll { now - $0 >= period }
            values = values.suffix(maximum - 1) + [now]
        }

        /// Returns the time until none of them counts; `nil` if that is now.
        func age(at now: ContinuousClock.Instant) -> Duration? {
            guard let last = values.last, now - last < period else { return nil }
            return last + period - now
        }

        func rest(at now: ContinuousClock.Instant) -> Duration? { values.count < maximum ? nil : age(at: now) }
    }

    private var ignored = Times(maximum: maximumIgnored)
    private var received = Times(maximum: maximumReceived)

    /// Counts a wake-up that arrived.
    mutating func receive(at now: ContinuousClock.Instant) { received.add(now) }

    /// Counts an ignored wake-up.
    mutating func spend(at now: ContinuousClock.Instant) { ignored.add(now) }

    /// Returns the time until wake-ups are heard again; `nil` if they are.
    func rest(at now: ContinuousClock.Instant) -> Duration? {
        [ignored.rest(at: now), received.rest(at: now)].compactMap(\.self).max()
    }

    /// Returns true if no more wake-ups are heard.
    func isSpent(at now: ContinuousClock.Instant) -> Bool { rest(at: now) != nil }

    /// Returns true if no ignored wake-up counts any more.
    func isFull(at now: ContinuousClock.Instant) -> Bool { ignored.age(at: now) == nil }
}
