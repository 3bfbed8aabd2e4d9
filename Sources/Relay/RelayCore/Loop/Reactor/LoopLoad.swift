// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The share of its time that an event loop is busy, which decides if the next event loop must accept connections, too.
///
/// If every event loop accepted at any load, each would find less work when it wakes up, and half of the tunnels of two
/// event loops would need a hand-over. So another event loop helps only if this one is busy most of the time. It stops
/// after a second in which this one had much time left. Both limits are far apart, so that a helper which takes half of
/// the work does not stop for that reason.
struct LoopLoad {
    /// Minimum length of a measurement: a few TLS handshakes.
    private static let window = TimeAmount.milliseconds(10)
    /// Time without a busy measurement after which the helper stops.
    private static let calm = TimeAmount.seconds(1)

    /// True if the next event loop must accept connections.
    private(set) var needsHelper = false
    private var windowStart: NIODeadline
    private var busy = TimeAmount.zero
    /// Time of the last measurement of a load that two event loops carry better.
    private var lastHigh: NIODeadline

    init(since start: NIODeadline) { (windowStart, lastHigh) = (start, start) }

    /// Counts a turn: the time from its first event until the event loop waits again.
    mutating func record(_ start: NIODeadline, until end: NIODeadline) {
        busy = busy + (end - start)
        let elapsed = end - windowStart
        guard elapsed >= Self.window else { return }
        let percent = 100 * busy.nanoseconds / elapsed.nanoseconds
        (windowStart, busy) = (end, .zero)
        if percent >= 70 { needsHelper = true }
        if percent >= 25 { lastHigh = end }
        if end - lastHigh >= Self.calm { needsHelper = false }
    }
}
