// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("Parties that take as much as they can", .timeLimit(.minutes(30)))
struct FairnessTests {
    private typealias Simulation = FairnessSimulation

    /// The part of the users that must succeed, of those who need a resource.
    private static let required: [Simulation.Resource: Double] = [
        .connections: 1, .tunnels: 1, .listeners: 1, .contacts: 1, .wakeUps: 0.95, .proofs: 0.9,
    ]

    /// Number of runs; `HYBRID_FAIRNESS_RUNS` replaces it.
    private static let runs = SpawnedProcess.environment["HYBRID_FAIRNESS_RUNS"].flatMap { Int($0) } ?? 1_000

    /// Returns limits of a small relay with room for `parties` addresses and a few users.
    private static func limits(parties: Int) -> RelayLimits {
        var limits = RelayLimits()
        (limits.connectionsPerSource, limits.connections) = (8, 8 * parties + 64)
        limits.tunnels = 7 * parties + 24
        (limits.listenersPerSource, limits.listeners) = (3, 3 * parties + 24)
        (limits.heldContactsPerSource, limits.heldContacts) = (2, 2 * parties + 16)
        (limits.newPerMinuteAndSource, limits.listenersPerMinute) = (16, 48 * parties + 600)
        limits.networkFactor = 2
        return limits
    }

    /// Returns parties that together have the limits of `count` addresses.
    ///
    /// - Parameters:
    ///   - targets: The resources that they exhaust; each party chooses one.
    ///   - factor: The limits of a /48, as a multiple of those of an address.
    private static func attackers(
        _ count: Int,
        _ targets: [Simulation.Resource],
        factor: Int,
        _ random: inout SeededGenerator
    ) -> [Simulation.Attacker] {
        let networks = [(48, factor), (40, 2 * factor), (32, 4 * factor)]
        var attackers: [Simulation.Attacker] = []
        var left = count
        while left > 0 {
            let network = networks.filter { $0.1 <= left && random.number(0...3) == 0 }.randomElement(using: &random)
            left -= network?.1 ?? 1
            let attacker = Simulation.Attacker(
                number: attackers.count + 1,
                network: network?.0,
                target: targets.randomElement(using: &random) ?? .tunnels,
                usesCommonServer: random.number(0...1) == 0,
                isBrief: random.number(0...1) == 0
            )
            attackers.append(attacker)
        }
        return attackers
    }

    private static func expectFairness(_ simulation: Simulation, _ count: Int, _ random: SeededGenerator) {
        for (resource, part) in required {
            let (all, served) = (simulation.attempts[resource] ?? 0, simulation.successes[resource] ?? 0)
            let comment =
                "\(count) sources, \(resource): \(served) of \(all) users, at least \(part) expected; \(random)"
            #expect(Double(served) >= part * Double(all), "\(comment)")
        }
    }

    @Test("cannot keep others from connections, tunnels, listeners, contacts, lookups and pushes")
    func randomParties() throws {
        let first = SeededGenerator()
        for run in 0..<Self.runs {
            let seed = SeededGenerator(seed: first.seed &+ UInt64(run))
            var random = seed
            let all = Simulation.Resource.allCases
            let targets = random.number(0...2) > 0 ? all.shuffled(using: &random).prefix(1) : all.prefix(all.count)
            let count = random.number(1...8)
            let attackers = Self.attackers(count, Array(targets), factor: 2, &random)
            let simulation = try Simulation(limits: Self.limits(parties: count), attackers: attackers, random: random)
            simulation.run(steps: 8, users: all, patience: 4)
            Self.expectFairness(simulation, count, seed)
        }
    }

    @Test(
        "cannot do it with the default limits either",
        arguments: [
            (.connections, 128), (.tunnels, 128), (.listeners, 128), (.contacts, 128), (.wakeUps, 32), (.proofs, 12),
        ] as [(FairnessSimulation.Resource, Int)]
    )
    func defaultLimits(target: FairnessSimulation.Resource, count: Int) throws {
        let seed = SeededGenerator()
        var random = seed
        let all = Simulation.Resource.allCases
        let attackers = Self.attackers(count, [target], factor: 8, &random)
        let simulation = try Simulation(limits: RelayLimits(), attackers: attackers, random: random)
        simulation.run(steps: 40, users: all, patience: 8)
        Self.expectFairness(simulation, count, seed)
    }
}
