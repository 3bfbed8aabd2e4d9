// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Time since an end last sent anything, and the pings sent since then.
struct KeepaliveState {
    enum Step {
        case wait
        case ping
        /// No ping was answered.
        case giveUp
    }

    private let lastReceived: NIODeadline
    private var pings = 0

    /// Creates the state of an end that sent something at this time.
    init(since lastReceived: NIODeadline) { self.lastReceived = lastReceived }

    /// Returns the next step; if it is a ping, the ping counts as sent.
    mutating func next(now: NIODeadline, limits: RelayLimits) -> Step {
        guard now - lastReceived >= limits.pingInterval * (pings + 1) else { return .wait }
        guard pings < limits.pingMisses else { return .giveUp }
        pings += 1
        return .ping
    }
}
