// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCheck

/// Simulated times of a relay and a network; deterministic for a seed.
private struct SimulatedNetwork {
    /// Minimum time of each message.
    var distance: TimeAmount = .microseconds(300)
    /// Mean delay by a busy computer, exponentially distributed.
    var noise: TimeAmount = .zero
    /// Delay of each message by the relay.
    var hold: TimeAmount = .zero
    /// Delay of the second of two messages by the relay.
    var stall: TimeAmount = .zero

    private func time(_ generator: inout SeededGenerator) -> TimeAmount {
        let share = Double.random(in: Double.ulpOfOne..<1, using: &generator)
        return distance + .nanoseconds(Int64(-log(share) * Double(noise.nanoseconds)))
    }

    /// Returns the outcome after the requested number of pairs; only messages to the client are stalled.
    func outcome(seed: UInt64) -> CheckOutcome {
        var generator = SeededGenerator(seed: seed)
        let openings = (0..<3).map { _ in time(&generator) }
        var delays = MessageDelays(opening: openings.min())
        repeat {
            let (first, second) = (time(&generator) + hold, time(&generator) + hold)
            delays.toPhone.append(.init(first: first, second: second))
            delays.toClient.append(.init(first: time(&generator) + hold, second: time(&generator) + hold + stall))
        } while delays.wantsMore
        return delays.outcome
    }
}

@Suite("Evaluation of message delays")
struct DelayTests {
    private static let seeds: Range<UInt64> = 0..<100

    private static func labels(_ network: SimulatedNetwork) -> [String: Int] {
        seeds.reduce(into: [:]) { counts, seed in
            let outcome = network.outcome(seed: seed)
            let isSkipped = if case .skipped = outcome { true } else { false }
            counts[isSkipped ? "skipped" : outcome.label, default: 0] += 1
        }
    }

    @Test("Distance is no fault", arguments: [0, 20, 45, 150, 600])
    func distance(milliseconds: Int64) {
        let network = SimulatedNetwork(distance: .milliseconds(milliseconds), noise: .milliseconds(2))
        #expect(Self.labels(network) == ["ok": Self.seeds.count])
    }

    @Test("Noise is no fault, however strong", arguments: [5, 15, 40, 100, 400, 2000])
    func noise(milliseconds: Int64) {
        for distance in [TimeAmount.microseconds(200), .milliseconds(80)] {
            let labels = Self.labels(SimulatedNetwork(distance: distance, noise: .milliseconds(milliseconds)))
            #expect(labels["differs"] == nil)
            if milliseconds == 5 { #expect(labels == ["ok": Self.seeds.count]) }
            if milliseconds >= 40 { #expect(labels == ["skipped": Self.seeds.count]) }
        }
    }

    @Test("A stall is detected in weaker noise, near and far", arguments: [0, 1, 5, 10])
    func stall(milliseconds: Int64) {
        for distance in [TimeAmount.microseconds(200), .milliseconds(300)] {
            let noise = TimeAmount.milliseconds(milliseconds)
            let network = SimulatedNetwork(distance: distance, noise: noise, stall: .milliseconds(36))
            #expect(Self.labels(network) == ["differs": Self.seeds.count])
        }
    }

    @Test("A stall is never accepted, however strong the noise", arguments: [20, 40, 100, 400])
    func drownedStall(milliseconds: Int64) {
        let labels = Self.labels(SimulatedNetwork(noise: .milliseconds(milliseconds), stall: .milliseconds(36)))
        #expect(labels["ok"] == nil)
    }

    @Test("A delay of every message is detected, even in some noise", arguments: [0, 1, 5, 10])
    func hold(milliseconds: Int64) {
        let network = SimulatedNetwork(noise: .milliseconds(milliseconds), hold: .milliseconds(40))
        #expect(Self.labels(network) == ["differs": Self.seeds.count])
    }

    @Test("A few messages allow no conclusion")
    func tooFew() {
        var delays = MessageDelays(opening: nil)
        delays.toPhone = Array(repeating: .init(first: .milliseconds(1), second: .milliseconds(41)), count: 5)
        delays.toClient = delays.toPhone
        #expect(delays.wantsMore)
        #expect(
            delays.outcome == .skipped("not measured, to the phone: only 5 pairs of messages in half of the time limit")
        )
    }

    @Test("The outcome has the measured times")
    func texts() {
        var delays = MessageDelays(opening: .microseconds(500))
        delays.toPhone = Array(repeating: .init(first: .microseconds(400), second: .microseconds(300)), count: 24)
        delays.toClient = delays.toPhone
        #expect(delays.outcome == .ok("48 pairs of messages; the quickest took 0.4 ms"))
        delays.toClient = Array(repeating: .init(first: .milliseconds(1), second: .milliseconds(38)), count: 24)
        #expect(
            delays.outcome
                == .differs(
                    "to the client: 24 of 24 second messages were late, by 37.0 ms: "
                        + "Nagle's algorithm waits for an acknowledgement"
                )
        )
        delays.toClient = Array(repeating: .init(first: .milliseconds(41), second: .milliseconds(38)), count: 24)
        #expect(
            delays.outcome
                == .differs("to the client: a message takes at least 41.0 ms, a response to a request 0.5 ms")
        )
    }
}
