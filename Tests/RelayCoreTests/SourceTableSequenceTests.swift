// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import NIOCore
import TestSupport
import Testing

@Suite("Random sequences of calls to the source table")
struct SourceTableSequenceTests {
    /// The same rules in their simplest form: a bucket of nanoseconds for each source, never removed.
    private struct Reference {
        let limits: SourceLimits
        var connections: [Int: Int] = [:]
        var buckets: [Int: (level: Int64, at: Int64)] = [:]

        private var share: Int64 { 60_000_000_000 / Int64(limits.newPerMinute) }

        mutating func addConnection(_ source: Int) -> Bool {
            guard limits.open == 0 || connections[source, default: 0] < limits.open else { return false }
            connections[source, default: 0] += 1
            return true
        }

        mutating func admitTunnel(_ source: Int, at now: Int64) -> Bool {
            guard limits.newPerMinute > 0 else { return true }
            let capacity = share * Int64(limits.newPerMinute)
            var (level, last) = buckets[source] ?? (capacity, now)
            level = min(capacity, level + now - last)
            last = now
            let isAllowed = level >= share
            if isAllowed { level -= share }
            buckets[source] = (level, last)
            return isAllowed
        }
    }

    private static let limits = [
        SourceLimits(), SourceLimits(open: 1, newPerMinute: 1), SourceLimits(open: 3, newPerMinute: 7),
        SourceLimits(open: 0, newPerMinute: 5), SourceLimits(open: 2, newPerMinute: 0),
        SourceLimits(open: 5, newPerMinute: 61),
    ]

    @Test("agrees with a reference implementation, and is empty in the end", arguments: 0..<24)
    func sequences(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let limits = Self.limits[seed % Self.limits.count]
        var table = SourceTable(limits: limits)
        var reference = Reference(limits: limits)
        var now: Int64 = 5_000_000_000
        var refusals = 0
        for _ in 0..<4_000 {
            let source = random.number(0...5)
            let prefix = SourceTableUnderTest.source(source)
            switch random.number(0...9) {
            case 0...2:
                let expected = reference.addConnection(source)
                let result = table.addConnection(from: prefix)
                #expect(result == expected, "\(random)")
                refusals += result ? 0 : 1
            case 3...4:
                guard reference.connections[source, default: 0] > 0 else { break }
                reference.connections[source, default: 0] -= 1
                table.removeConnection(from: prefix)
            case 5...7:
                let expected = reference.admitTunnel(source, at: now)
                let result = table.admitTunnel(from: prefix, now: .uptimeNanoseconds(UInt64(now)))
                #expect(result == expected, "\(random)")
                refusals += result ? 0 : 1
            case 8: table.sweep(now: .uptimeNanoseconds(UInt64(now)))
            default: now += Int64(random.number(0...20_000_000_000)) / (random.number(0...1) == 0 ? 1 : 1000)
            }
            #expect(table.count >= reference.connections.values.count { $0 > 0 })
            #expect(table.count <= 6)
        }
        if limits.open > 0 || limits.newPerMinute > 0 { #expect(refusals > 20, "limits were reached") }
        for (source, count) in reference.connections {
            for _ in 0..<count { table.removeConnection(from: SourceTableUnderTest.source(source)) }
        }
        table.sweep(now: .uptimeNanoseconds(UInt64(now + 60_000_000_000)))
        #expect(table.count == 0, "\(random)")
    }

    @Test("stays bounded with many sources, counts exactly, and refuses no source wrongly", arguments: 0..<12)
    func manySources(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let limits = SourceLimits(open: 2, newPerMinute: 3, remembered: random.number(0...20))
        var table = SourceTable(limits: limits)
        var reference = Reference(limits: limits)
        var connected: [Int] = []
        var now: Int64 = 5_000_000_000
        for _ in 0..<4_000 {
            let source = random.number(0...200)
            let prefix = SourceTableUnderTest.source(source)
            switch random.number(0...9) {
            case 0...3:
                let expected = reference.addConnection(source)
                let result = table.addConnection(from: prefix)
                #expect(result == expected, "\(random)")
                if result { connected.append(source) }
            case 4...5:
                guard !connected.isEmpty else { break }
                let leaving = connected.remove(at: random.number(0...(connected.count - 1)))
                reference.connections[leaving, default: 0] -= 1
                table.removeConnection(from: SourceTableUnderTest.source(leaving))
            case 6...7:
                // Only connected sources open tunnels. The tunnels of a forgotten source do not count.
                guard let asking = connected.randomElement(using: &random) else { break }
                let expected = reference.admitTunnel(asking, at: now)
                let result = table.admitTunnel(
                    from: SourceTableUnderTest.source(asking),
                    now: .uptimeNanoseconds(UInt64(now))
                )
                if expected { #expect(result, "\(random)") }
                // The source got more than its rate, so its bucket is empty.
                if result, !expected { reference.buckets[asking] = (0, now) }
            case 8: table.sweep(now: .uptimeNanoseconds(UInt64(now)))
            default: now += Int64(random.number(0...3_000_000_000))
            }
            #expect(table.count <= Set(connected).count + limits.remembered, "\(random)")
        }
        #expect(connected.count > 50)
    }
}
