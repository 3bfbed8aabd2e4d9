// SPDX-License-Identifier: Apache-2.0

/// The ignored wake-ups that a relay or push service may deliver before it is not heard for a while.
///
/// An honest one delivers few: a wake-up that is old, or one of a computer whose clock is wrong. Each costs this device
/// some work, and a hostile relay could deliver thousands in a second.
struct WakeUpBudget: Sendable {
    /// Number of ignored wake-ups after which the budget is spent.
    static let maximumIgnored = 10
    /// Time until a spent budget is renewed.
    static let pause = Duration.seconds(600)

    private var ignored = 0
    private var last: ContinuousClock.Instant?

    /// Counts an ignored wake-up.
    mutating func spend(at now: ContinuousClock.Instant) {
        if let last, now - last >= Self.pause { ignored = 0 }
        ignored += 1
        last = now
    }

    /// Returns true if no more wake-ups are heard.
    func isSpent(at now: ContinuousClock.Instant) -> Bool {
        guard ignored >= Self.maximumIgnored, let last else { return false }
        return now - last < Self.pause
    }
}
