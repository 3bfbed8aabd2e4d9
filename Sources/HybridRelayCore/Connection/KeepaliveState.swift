// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// How long an end has said nothing, and how often it was asked whether it is still there.
struct KeepaliveState {
    /// What is to be done about it.
    enum Step {
        case wait
        case ping
        /// It left all pings unanswered.
        case giveUp
    }

    private let beginning: NIODeadline
    private var pings = 0

    /// The end was heard then.
    init(since beginning: NIODeadline) { self.beginning = beginning }

    /// What is to be done now; a ping counts as sent.
    mutating func next(now: NIODeadline, limits: RelayLimits) -> Step {
        guard now - beginning >= limits.pingInterval * (pings + 1) else { return .wait }
        guard pings < limits.pingMisses else { return .giveUp }
        pings += 1
        return .ping
    }
}
