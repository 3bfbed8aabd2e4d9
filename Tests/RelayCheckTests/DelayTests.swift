// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCheck

/// Times as a relay and a network make them; the same for the same seed.
private struct Weather {
    /// Each message takes so long at least.
    var distance: TimeAmount = .microseconds(300)
    /// What a busy machine adds to a message, on average; sometimes much more.
    var noise: TimeAmount = .zero
    /// What a relay adds to each message, and to the second of two.
    var hold: TimeAmount = .zero
    var stall: TimeAmount = .zero

    private func time(_ generator: inout SeededGenerator) -> TimeAmount {
        let share = Double.random(in: Double.ulpOfOne..<1, using: &generator)
        return distance + .nanoseconds(Int64(-log(share) * Double(noise.nanoseconds)))
    }

    /// What is found after as many pairs as are asked for; the phone's side is never stalled.
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

@Suite("What is made of the time that messages take")
struct DelayTests {
    private static let seeds: Range<UInt64> = 0..<100

    private static func labels(_ weather: Weather) -> [String: Int] {
        seeds.reduce(into: [:]) { counts, seed in
            let outcome = weather.outcome(seed: seed)
            let isSkipped = if case .skipped = outcome { true } else { false }
            counts[isSkipped ? "skipped" : outcome.label, default: 0] += 1
        }
    }

    @Test("distance is no fault", arguments: [0, 20, 45, 150, 600])
    func distance(milliseconds: Int64) {
        let weather = Weather(distance: .milliseconds(milliseconds), noise: .milliseconds(2))
        #expect(Self.labels(weather) == ["ok": Self.seeds.count])
    }

    @Test("noise is no fault, however much there is", arguments: [5, 15, 40, 100, 400, 2000])
    func noise(milliseconds: Int64) {
        for distance in [TimeAmount.microseconds(200), .milliseconds(80)] {
            let labels = Self.labels(Weather(distance: distance, noise: .milliseconds(milliseconds)))
            #expect(labels["differs"] == nil)
            if milliseconds == 5 { #expect(labels == ["ok": Self.seeds.count]) }
            if milliseconds >= 40 { #expect(labels == ["skipped": Self.seeds.count]) }
        }
    }

    @Test("a stall is found in noise less than itself, near and far", arguments: [0, 1, 5, 10])
    func stall(milliseconds: Int64) {
        for distance in [TimeAmount.microseconds(200), .milliseconds(300)] {
            let noise = TimeAmount.milliseconds(milliseconds)
            let weather = Weather(distance: distance, noise: noise, stall: .milliseconds(36))
            #expect(Self.labels(weather) == ["differs": Self.seeds.count])
        }
    }

    @Test("a stall is never called fine, however much noise there is", arguments: [20, 40, 100, 400])
    func drownedStall(milliseconds: Int64) {
        let labels = Self.labels(Weather(noise: .milliseconds(milliseconds), stall: .milliseconds(36)))
        #expect(labels["ok"] == nil)
    }

    @Test("what holds up every message is found, also in some noise", arguments: [0, 1, 5, 10])
    func hold(milliseconds: Int64) {
        let weather = Weather(noise: .milliseconds(milliseconds), hold: .milliseconds(40))
        #expect(Self.labels(weather) == ["differs": Self.seeds.count])
    }

    @Test("from a few messages nothing is concluded")
    func tooFew() {
        var delays = MessageDelays(opening: nil)
        delays.toPhone = Array(repeating: .init(first: .milliseconds(1), second: .milliseconds(41)), count: 5)
        delays.toClient = delays.toPhone
        #expect(delays.wantsMore)
        #expect(delays.outcome == .skipped("not measured, to the phone: only 5 pairs of messages in half of the time"))
    }

    @Test("is told with its numbers")
    func texts() {
        var delays = MessageDelays(opening: .microseconds(500))
        delays.toPhone = Array(repeating: .init(first: .microseconds(400), second: .microseconds(300)), count: 24)
        delays.toClient = delays.toPhone
        #expect(delays.outcome == .ok("48 pairs of messages; the quickest took 0.4 ms"))
        delays.toClient = Array(repeating: .init(first: .milliseconds(1), second: .milliseconds(38)), count: 24)
        #expect(
            delays.outcome
                == .differs(
                    "to the client: 24 of 24 second messages came late, by 37.0 ms: "
                        + "Nagle's algorithm waits for an acknowledgement"
                )
        )
        delays.toClient = Array(repeating: .init(first: .milliseconds(41), second: .milliseconds(38)), count: 24)
        #expect(
            delays.outcome
                == .differs("to the client: a message takes 41.0 ms at best, an answer to a request 0.5 ms")
        )
    }
}
