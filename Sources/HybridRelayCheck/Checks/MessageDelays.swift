// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// How long messages were under way, and what that tells about the relay.
///
/// Distance and load must not look like a fault, so times are only compared with each other. Of a pair sent at once
/// both messages go the same way at the same time: a relay that holds the second up does so nearly every time, while
/// a busy machine or network is as likely to be late with the first. And a first message needs no longer than the
/// answer to a request, which comes from the same place, unless the relay sends each message in two parts and holds
/// up the second of those. Where the times say neither, nothing is said about the relay.
struct MessageDelays {
    /// The time each of two messages took.
    struct Pair {
        let first: TimeAmount
        let second: TimeAmount
    }

    /// Less than systems wait before they acknowledge (40 ms on Linux), more than a relay takes to pass a message on.
    static let stall = TimeAmount.milliseconds(20)
    /// So many pairs each way are enough where they agree.
    static let enough = 24
    /// More do not help.
    static let most = 72
    /// From fewer nothing is concluded.
    static let fewest = 6

    /// The quickest answer to a request for an end of a tunnel.
    let opening: TimeAmount?
    var toPhone: [Pair] = []
    var toClient: [Pair] = []

    init(opening: TimeAmount?) { self.opening = opening }

    private enum Finding {
        case fine
        case differs(String)
        case unclear(String)
    }

    /// Whether further pairs could tell what these do not.
    var wantsMore: Bool {
        [toPhone, toClient].contains { pairs in
            guard pairs.count >= Self.enough else { return true }
            guard case .unclear = finding(pairs) else { return false }
            return pairs.count < Self.most
        }
    }

    /// What the relay is told.
    var outcome: CheckOutcome {
        var doubts: [String] = []
        for (name, pairs) in [("to the phone", toPhone), ("to the client", toClient)] {
            switch finding(pairs) {
            case .fine: break
            case .differs(let text): return .differs("\(name): \(text)")
            case .unclear(let text): doubts.append("\(name): \(text)")
            }
        }
        if let doubt = doubts.first { return .skipped("not measured, \(doubt)") }
        let quickest = (toPhone + toClient).map(\.first).min() ?? .zero
        return .ok("\(toPhone.count + toClient.count) pairs of messages; the quickest took \(quickest.milliseconds)")
    }

    private func finding(_ pairs: [Pair]) -> Finding {
        guard pairs.count >= Self.fewest else {
            return .unclear("only \(pairs.count) pairs of messages in half of the time")
        }
        let behind = pairs.map { $0.second - $0.first }.sorted()
        let late = behind.filter { $0 >= Self.stall }
        let share = "\(late.count) of \(pairs.count) second messages came late"
        if late.count >= max(Self.fewest, pairs.count * 3 / 4) {
            let middle = late[late.count / 2].milliseconds
            return .differs("\(share), by \(middle): Nagle's algorithm waits for an acknowledgement")
        }
        // A second message that came much sooner than the first tells of noise, too: a stall may drown in it.
        let even = behind.filter { $0 < Self.stall && $0 > .zero - Self.stall }
        guard even.count >= pairs.count * 3 / 4 else {
            return .unclear("\(share): this machine or the network is busy")
        }
        return findingOfFirst(pairs.map(\.first).sorted())
    }

    private func findingOfFirst(_ times: [TimeAmount]) -> Finding {
        guard let opening, let quickest = times.first, quickest - opening >= Self.stall else { return .fine }
        // What holds up every message does so evenly; what a busy machine adds is scattered more widely.
        guard times[times.count * 3 / 4] - quickest <= quickest - opening else {
            return .unclear("messages take \(quickest.milliseconds) or more: this machine or the network is busy")
        }
        return .differs(
            "a message takes \(quickest.milliseconds) at best, an answer to a request \(opening.milliseconds)"
        )
    }
}
