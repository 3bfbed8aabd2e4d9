// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import HybridRelayCore

/// A table in a class, since expectations cannot contain mutating calls.
final class SourceTableUnderTest {
    private var table: SourceTable

    init(_ limits: SourceLimits) { table = SourceTable(limits: limits) }

    var count: Int { table.count }
    var limits: SourceLimits {
        get { table.limits }
        set { table.limits = newValue }
    }

    func add(_ source: SourcePrefix) -> Bool { table.addConnection(from: source) }
    func remove(_ source: SourcePrefix) { table.removeConnection(from: source) }
    func open(_ source: SourcePrefix, _ now: NIODeadline) -> Bool { table.admitTunnel(from: source, now: now) }
    func sweep(_ now: NIODeadline) { table.sweep(now: now) }

    /// Returns the number of tunnels that a source may open at once.
    func burst(_ source: SourcePrefix, _ now: NIODeadline, most: Int = 1000) -> Int {
        (0..<most).prefix { _ in open(source, now) }.count
    }

    /// Returns the IPv4 source of a number.
    static func source(_ number: Int) -> SourcePrefix {
        let bytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        guard let address = SocketAddress(packed: bytes, port: 0) else { preconditionFailure("4 bytes are an address") }
        return SourcePrefix(address)
    }
}

@Suite("The source table")
struct SourceTableTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let a = SourceTableUnderTest.source(1)
    private let b = SourceTableUnderTest.source(2)

    @Test("counts the connections of each source separately")
    func connections() {
        let table = SourceTableUnderTest(SourceLimits(open: 3))
        for _ in 0..<3 { #expect(table.add(a)) }
        #expect(!table.add(a))
        #expect(table.add(b))
        table.remove(a)
        #expect(table.add(a))
        #expect(!table.add(a))
        #expect(table.count == 2)
    }

    @Test("forgets a source without tunnels after its last connection")
    func forgetting() {
        let table = SourceTableUnderTest(SourceLimits())
        for _ in 0..<5 { #expect(table.add(a)) }
        for left in (0..<5).reversed() {
            #expect(table.count == 1)
            table.remove(a)
            #expect(table.count == (left == 0 ? 0 : 1))
        }
        table.remove(a)
        #expect(table.count == 0, "an extra removal has no effect")
        #expect(table.add(a))
    }

    @Test("has no limits if they are 0 or less", arguments: [0, -1])
    func off(limit: Int) {
        let table = SourceTableUnderTest(SourceLimits(open: limit, newPerMinute: limit))
        for _ in 0..<10_000 { #expect(table.add(a)) }
        #expect(table.burst(a, start, most: 10_000) == 10_000)
        for _ in 0..<10_000 { table.remove(a) }
        #expect(table.count == 0)
    }

    @Test("admits a minute's tunnels at once, then one after each share of a minute")
    func rate() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 60))
        #expect(table.burst(a, start) == 60)
        #expect(table.burst(b, start) == 60)
        #expect(!table.open(a, start + .milliseconds(999)))
        #expect(table.open(a, start + .seconds(1)))
        #expect(!table.open(a, start + .milliseconds(1999)))
        #expect(table.burst(a, start + .seconds(11)) == 10)
        #expect(table.burst(a, start + .seconds(71)) == 60, "a minute fills the bucket")
        #expect(table.burst(a, start + .hours(10)) == 60, "no time adds more")
    }

    @Test("keeps any rate", arguments: [1, 7, 59, 61, 1000, 100_000])
    func rates(perMinute: Int) {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: perMinute))
        #expect(table.burst(a, start, most: perMinute + 1) == perMinute)
        #expect(table.burst(a, start + .minutes(1), most: perMinute + 1) == perMinute)
        let share = TimeAmount.nanoseconds(60_000_000_000 / Int64(perMinute))
        #expect(!table.open(a, start + .minutes(1) + share - .nanoseconds(1)))
        #expect(table.open(a, start + .minutes(1) + share))
    }

    @Test("accepts the largest numbers", arguments: [60_000_000_000, 60_000_000_001, Int.max])
    func largest(number: Int) {
        let table = SourceTableUnderTest(SourceLimits(open: number, newPerMinute: number, remembered: number))
        #expect(table.add(a))
        #expect(table.burst(a, start) == 1000)
    }

    @Test("a refused tunnel costs nothing")
    func refusals() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 2))
        #expect(table.burst(a, start) == 2)
        for second in 0..<30 { #expect(!table.open(a, start + .seconds(Int64(second)))) }
        #expect(table.open(a, start + .seconds(30)))
    }

    @Test("a clock that goes back has no effect")
    func clock() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 2))
        #expect(table.burst(a, start) == 2)
        #expect(!table.open(a, start - .seconds(100)))
        #expect(table.open(a, start + .seconds(30)))
        table.sweep(start - .seconds(100))
        #expect(!table.open(a, start + .seconds(30)))
    }

    @Test("remembers the tunnels of a disconnected source for a minute")
    func remembering() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 60))
        #expect(table.add(a))
        #expect(table.burst(a, start) == 60)
        table.remove(a)
        #expect(table.count == 1)
        #expect(table.add(a))
        #expect(!table.open(a, start))
        table.remove(a)
        table.sweep(start + .milliseconds(59_999))
        #expect(table.count == 1)
        table.sweep(start + .seconds(60))
        #expect(table.count == 0)
    }

    @Test("a sweep keeps sources with a connection")
    func sweep() {
        let table = SourceTableUnderTest(SourceLimits(open: 1, newPerMinute: 1))
        #expect(table.add(a) && table.open(a, start))
        #expect(table.add(b) && table.open(b, start))
        table.remove(b)
        table.sweep(start + .hours(1))
        #expect(table.count == 1)
        #expect(!table.add(a))
        table.remove(a)
        #expect(table.count == 0)
    }

    @Test("forgets a source with a full bucket after its last connection, without a sweep")
    func leavingLate() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 60))
        #expect(table.add(a) && table.add(b) && table.open(a, start))
        // The call for another source advances the time.
        #expect(table.open(b, start + .seconds(2)))
        table.remove(a)
        #expect(table.count == 1)
    }

    @Test("remembers a limited number, but counts the connections of all")
    func full() {
        let table = SourceTableUnderTest(SourceLimits(open: 2, newPerMinute: 1, remembered: 10))
        let sources = (0..<50).map { SourceTableUnderTest.source($0) }
        for source in sources {
            #expect(table.add(source) && table.open(source, start))
            #expect(!table.open(source, start))
        }
        #expect(table.count == 50)
        for source in sources { table.remove(source) }
        #expect(table.count == 10)
        #expect(sources.map { table.open($0, start) } == (0..<50).map { $0 >= 10 }, "the first ten are remembered")
        #expect(table.count == 10)
        for source in sources { #expect(table.add(source) && table.add(source) && !table.add(source)) }
        #expect(table.count == 50)
        for source in sources { for _ in 0..<2 { table.remove(source) } }
        table.sweep(start + .minutes(1))
        #expect(table.count == 0)
    }

    @Test("needs one entry for a source that reconnects")
    func comingAndGoing() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 60, remembered: 2))
        for _ in 0..<10 {
            #expect(table.add(a) && table.open(a, start))
            table.remove(a)
            #expect(table.count == 1)
        }
        #expect(table.add(b))
        #expect(table.burst(b, start) == 60)
        table.remove(b)
        #expect(table.count == 2)
        #expect(!table.open(b, start))
        // A sweep removes the entries.
        let later = start + .minutes(1)
        table.sweep(later)
        #expect(table.count == 0)
        for source in [a, b] {
            #expect(table.add(source))
            #expect(table.burst(source, later) == 60)
            table.remove(source)
        }
        #expect(table.count == 2)
        #expect(!table.open(a, later) && !table.open(b, later))
    }

    @Test("accepts new limits at any time")
    func otherLimits() {
        let table = SourceTableUnderTest(SourceLimits(open: 0, newPerMinute: 0))
        for _ in 0..<5 { #expect(table.add(a)) }
        #expect(table.burst(a, start, most: 100) == 100)
        table.limits = SourceLimits(open: 3, newPerMinute: 2)
        #expect(!table.add(a), "existing connections count")
        for _ in 0..<3 { table.remove(a) }
        #expect(table.add(a))
        #expect(table.burst(a, start) == 2)
        table.limits = SourceLimits(open: 10, newPerMinute: 60)
        #expect(!table.open(a, start))
        #expect(table.open(a, start + .seconds(1)))
        for _ in 0..<3 { table.remove(a) }
        table.sweep(start + .minutes(2))
        #expect(table.count == 0)
    }
}
