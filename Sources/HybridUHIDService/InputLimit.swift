// SPDX-License-Identifier: Apache-2.0

/// The limit on reports of the client, which waits while it is reached: 32 at once, and 2,000 a second.
///
/// The kernel's queue for each program that has the device open holds 64 reports, and drops further ones. On one
/// processor, a program lost some of the longest message, 129 reports, at 8,000 a second. It also keeps a client from
/// occupying a processor.
///
/// It is the generic cell rate algorithm (ITU-T I.371).
struct InputLimit: Sendable {
    static let (perSecond, burst) = (2_000, 32)

    private let interval = Duration.seconds(1) / Self.perSecond
    private var tolerance: Duration { interval * (Self.burst - 1) }
    /// The time at which the next report is due if reports come at the highest steady rate.
    private var due: ContinuousClock.Instant?

    /// Returns true if a report may pass.
    func isOpen(at now: ContinuousClock.Instant) -> Bool { due.map { $0 - now <= tolerance } ?? true }

    /// Counts a report.
    mutating func count(at now: ContinuousClock.Instant) { due = max(due ?? now, now) + interval }
}
