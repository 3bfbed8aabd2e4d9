// SPDX-License-Identifier: Apache-2.0

/// The limits on reports of the client, which waits while one of them is reached.
struct InputLimits: Sendable {
    /// The kernel's queue for each program that has the device open holds 64 reports, and drops further ones.
    private var pace = RateLimit(perSecond: 32_000, burst: 32)
    /// A client must not keep a processor busy.
    private var rate = RateLimit(perSecond: 8_000, burst: 512)

    /// Returns true if a report may pass.
    func isOpen(at now: ContinuousClock.Instant) -> Bool { pace.isOpen(at: now) && rate.isOpen(at: now) }

    /// Counts a report.
    mutating func count(at now: ContinuousClock.Instant) {
        pace.count(at: now)
        rate.count(at: now)
    }
}

/// A limit on the rate of events, with the generic cell rate algorithm (ITU-T I.371).
private struct RateLimit: Sendable {
    private let interval: Duration
    private let tolerance: Duration
    /// The time at which the next event is due if events come at the highest steady rate.
    private var due: ContinuousClock.Instant?

    init(perSecond: Int, burst: Int) {
        interval = .seconds(1) / perSecond
        tolerance = interval * (burst - 1)
    }

    func isOpen(at now: ContinuousClock.Instant) -> Bool { due.map { $0 - now <= tolerance } ?? true }

    mutating func count(at now: ContinuousClock.Instant) { due = max(due ?? now, now) + interval }
}
