// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Travel times of messages and their evaluation.
///
/// Distance and load must not look like a fault, so times are compared only with each other. Both messages of a pair
/// take the same path at the same time. A relay that delays the second does so nearly every time; a busy computer or
/// network delays the first just as often. A first message takes about as long as the response to a request. It takes
/// longer if the relay sends each message in two parts and delays the second part. If the times are too scattered,
/// there is no conclusion.
struct MessageDelays {
    /// Travel times of the two messages of a pair.
    struct Pair {
        let first: TimeAmount
        let second: TimeAmount
    }

    /// Threshold of a stall: below the delay of acknowledgments (40 ms on Linux), above the time to forward a message.
    static let stall = TimeAmount.milliseconds(20)
    /// Number of pairs in each direction that is sufficient if their times agree.
    static let enough = 24
    /// Maximum number of pairs in each direction.
    static let most = 72
    /// Minimum number of pairs for a conclusion.
    static let fewest = 6

    /// Time of the fastest response to a request that opened or joined a tunnel.
    let opening: TimeAmount?
    var toPhone: [Pair] = []
    var toClient: [Pair] = []

    private enum Finding {
        case fine
        case differs(String)
        case unclear(String)
    }

    /// True if further pairs could lead to a conclusion.
    var wantsMore: Bool {
        [toPhone, toClient].contains { pairs in
            guard pairs.count >= Self.enough else { return true }
            guard case .unclear = finding(pairs) else { return false }
            return pairs.count < Self.most
        }
    }

    /// The outcome of the check.
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
            return .unclear("only \(pairs.count) pairs of messages in half of the time limit")
        }
        let behind = pairs.map { $0.second - $0.first }.sorted()
        let late = behind.filter { $0 >= Self.stall }
        let share = "\(late.count) of \(pairs.count) second messages were late"
        if late.count >= max(Self.fewest, pairs.count * 3 / 4) {
            let middle = late[late.count / 2].milliseconds
            return .differs("\(share), by \(middle): Nagle's algorithm waits for an acknowledgement")
        }
        // A second message that is much faster than the first is noise, too, and noise may hide a stall.
        let even = behind.filter { $0 < Self.stall && $0 > .zero - Self.stall }
        guard even.count >= pairs.count * 3 / 4 else {
            return .unclear("\(share): this computer or the network is busy")
        }
        return findingOfFirst(pairs.map(\.first).sorted())
    }

    private func findingOfFirst(_ times: [TimeAmount]) -> Finding {
        guard let opening, let quickest = times.first, quickest - opening >= Self.stall else { return .fine }
        // A stall delays every message evenly; the delays of a busy computer are scattered.
        guard times[times.count * 3 / 4] - quickest <= quickest - opening else {
            return .unclear("messages take \(quickest.milliseconds) or more: this computer or the network is busy")
        }
        return .differs(
            "a message takes at least \(quickest.milliseconds), a response to a request \(opening.milliseconds)"
        )
    }
}
