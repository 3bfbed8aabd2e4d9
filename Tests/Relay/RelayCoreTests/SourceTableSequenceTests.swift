// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import NIOCore
import TestSupport
import Testing

@Suite("Random sequences of calls to the source table")
struct SourceTableSequenceTests {
    /// The same rules in their simplest form: for each source and each network, numbers and buckets, never removed.
    private struct Reference {
        struct Party {
            var connections = 0
            var phones = 0
            var arrivals = Bucket()
            var tunnels = Bucket()
        }

        /// Nanoseconds of a bucket's capacity that are left; `nil` if it is full.
        struct Bucket {
            var level: Int64?
            var last: Int64 = 0

            private static func share(_ perMinute: Int) -> Int64 { 60_000_000_000 / Int64(perMinute) }

            mutating func hasRoom(_ perMinute: Int, at now: Int64) -> Bool {
                guard perMinute > 0 else { return true }
                let capacity = Self.share(perMinute) * Int64(perMinute)
                level = min(capacity, (level ?? capacity) + now - last)
                last = now
                return (level ?? 0) >= Self.share(perMinute)
            }

            mutating func take(_ events: Int, _ perMinute: Int, at now: Int64) {
                guard perMinute > 0 else { return }
                _ = hasRoom(perMinute, at: now)
                let share = Self.share(perMinute)
                level = max((level ?? 0) - share * Int64(events), -share * Int64(perMinute))
            }

            mutating func charge(_ events: Int, _ perMinute: Int, at now: Int64) {
                guard perMinute > 0 else { return }
                _ = hasRoom(perMinute, at: now)
                let (before, share) = (level ?? 0, Self.share(perMinute))
                let least = share * Int64(perMinute - perMinute / 2)
                level = min(before, max(before - share * Int64(events), least))
            }
        }

        let limits: SourceLimits
        /// Sources by their numbers, and networks by -1 - number.
        var parties: [Int: Party] = [:]

        /// A source and its networks with the factors of their limits.
        private func tiers(_ source: Int) -> [(key: Int, factor: Int)] {
            guard let network = SourceTableSequenceTests.network(source), limits.networkFactor > 0 else {
                return [(source, 1)]
            }
            // The /48s of the test are in one /40 and one /32.
            let factor = limits.networkFactor
            return [(source, 1), (-1 - network, factor), (-100, 2 * factor), (-101, 4 * factor)]
        }

        mutating func addConnection(_ source: Int, at now: Int64) -> SourceTable.Rejection? {
            for (key, factor) in tiers(source) where limits.open > 0 {
                guard parties[key, default: Party()].connections < limits.open * factor else {
                    return key < 0 ? .network : .source
                }
            }
            for (key, factor) in tiers(source) {
                guard parties[key, default: Party()].arrivals.hasRoom(limits.connectionsPerMinute * factor, at: now)
                else { return .rate }
            }
            for (key, factor) in tiers(source) {
                parties[key, default: Party()].arrivals.take(1, limits.connectionsPerMinute * factor, at: now)
                parties[key]?.connections += 1
            }
            return nil
        }

        mutating func removeConnection(_ source: Int, isPhone: Bool) {
            for (key, _) in tiers(source) {
                parties[key]?.connections -= 1
                if isPhone { parties[key]?.phones -= 1 }
            }
        }

        mutating func charge(_ source: Int, _ connections: Int, at now: Int64) {
            for (key, factor) in tiers(source) {
                parties[key, default: Party()].arrivals
                    .charge(connections, limits.connectionsPerMinute * factor, at: now)
            }
        }

        mutating func admitTunnel(_ source: Int, at now: Int64) -> Bool {
            for (key, factor) in tiers(source) {
                let most = limits.open * factor
                guard limits.open <= 0 || parties[key, default: Party()].phones < most - most / 8,
                    parties[key, default: Party()].tunnels.hasRoom(limits.newPerMinute * factor, at: now)
                else { return false }
            }
            for (key, factor) in tiers(source) {
                parties[key]?.phones += 1
                parties[key]?.tunnels.take(1, limits.newPerMinute * factor, at: now)
            }
            return true
        }
    }

    /// The network of a source's number: even ones are IPv4 addresses.
    private static func network(_ source: Int) -> Int? { source % 2 == 0 ? nil : source / 2 % 3 }

    private static func prefix(_ source: Int) -> SourcePrefix {
        guard let network = network(source) else { return SourceTableUnderTest.source(source) }
        return SourceTableUnderTest.source(network: network, source)
    }

    private static let limits = [
        SourceLimits(), SourceLimits(open: 1, connectionsPerMinute: 1, newPerMinute: 1, networkFactor: 1),
        SourceLimits(open: 3, newPerMinute: 7, networkFactor: 2), SourceLimits(open: 0, newPerMinute: 5),
        SourceLimits(open: 2, connectionsPerMinute: 30, newPerMinute: 0, networkFactor: 0),
        SourceLimits(open: 9, connectionsPerMinute: 61, newPerMinute: 61, networkFactor: 2),
        SourceLimits(open: 0, connectionsPerMinute: 20, newPerMinute: 0, networkFactor: 3),
    ]

    private static func deadline(_ now: Int64) -> NIODeadline { .uptimeNanoseconds(UInt64(now)) }

    @Test("agrees with a reference implementation, and is empty in the end", arguments: 0..<28)
    func sequences(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let limits = Self.limits[seed % Self.limits.count]
        let table = SourceTableUnderTest(limits)
        var reference = Reference(limits: limits)
        var open: [(source: Int, isPhone: Bool)] = []
        var now: Int64 = 5_000_000_000
        var refusals = 0
        for step in 0..<4_000 {
            let index = open.isEmpty ? nil : random.number(0...(open.count - 1))
            switch random.number(0...11) {
            case 0...3:
                let source = random.number(0...9)
                let expected = reference.addConnection(source, at: now)
                let result = table.add(Self.prefix(source), Self.deadline(now))
                #expect(result == expected, "\(random)")
                if result == nil { open.append((source, false)) } else { refusals += 1 }
            case 4...5:
                guard let index else { break }
                let (source, isPhone) = open.remove(at: index)
                reference.removeConnection(source, isPhone: isPhone)
                table.remove(Self.prefix(source), isPhone: isPhone)
            case 6...7:
                guard let index, !open[index].isPhone else { break }
                let source = open[index].source
                let expected = reference.admitTunnel(source, at: now)
                let result = table.admitTunnel(Self.prefix(source), Self.deadline(now))
                #expect(result == expected, "\(random)")
                open[index].isPhone = result
                refusals += result ? 0 : 1
            case 8:
                guard let index else { break }
                let cost = random.number(1...11)
                reference.charge(open[index].source, cost, at: now)
                table.charge(Self.prefix(open[index].source), cost, Self.deadline(now))
            case 9: table.sweep(Self.deadline(now))
            default: now += Int64(random.number(0...2_000_000_000)) / (random.number(0...1) == 0 ? 1 : 1000)
            }
            guard step.isMultiple(of: 16) else { continue }
            #expect(table.count >= Set(open.map(\.source)).count)
            #expect(table.count <= 10 + 5)
        }
        #expect(refusals > 20, "limits were reached")
        for (source, isPhone) in open { table.remove(Self.prefix(source), isPhone: isPhone) }
        for minutes in stride(from: Int64(0), through: 6, by: 2) {
            table.sweep(Self.deadline(now + minutes * 60_000_000_000))
        }
        #expect(table.count == 0, "\(random)")
    }

    @Test("stays bounded with many sources, counts exactly, and refuses no source wrongly", arguments: 0..<12)
    func manySources(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let limits = SourceLimits(
            open: 2,
            connectionsPerMinute: 5,
            newPerMinute: 3,
            networkFactor: 100,
            remembered: random.number(0...20)
        )
        let table = SourceTableUnderTest(limits)
        var reference = Reference(limits: limits)
        var open: [(source: Int, isPhone: Bool)] = []
        var now: Int64 = 5_000_000_000
        for _ in 0..<4_000 {
            let source = random.number(0...200)
            let deadline = Self.deadline(now)
            switch random.number(0...9) {
            case 0...4:
                let expected = reference.addConnection(source, at: now)
                let result = table.add(Self.prefix(source), deadline)
                if expected != .rate { #expect(result == expected, "\(random)") }
                guard result == nil else { break }
                open.append((source, false))
                // The table has forgotten the source's earlier connections.
                if expected == .rate {
                    reference.parties[source]?.arrivals = .init()
                    #expect(reference.addConnection(source, at: now) == nil)
                }
            case 5...6:
                guard !open.isEmpty else { break }
                let leaving = open.remove(at: random.number(0...(open.count - 1)))
                reference.removeConnection(leaving.source, isPhone: leaving.isPhone)
                table.remove(Self.prefix(leaving.source), isPhone: leaving.isPhone)
            case 7:
                guard let index = open.indices.randomElement(using: &random), !open[index].isPhone else { break }
                let expected = reference.admitTunnel(open[index].source, at: now)
                let result = table.admitTunnel(Self.prefix(open[index].source), deadline)
                if expected { #expect(result, "\(random)") }
                if result, !expected {
                    reference.parties[open[index].source]?.tunnels = .init()
                    _ = reference.admitTunnel(open[index].source, at: now)
                }
                open[index].isPhone = result
            case 8: table.sweep(deadline)
            default: now += Int64(random.number(0...3_000_000_000))
            }
            #expect(table.count <= Set(open.map(\.source)).count + 5 + max(2, limits.remembered), "\(random)")
        }
        #expect(open.count > 50)
    }
}
