// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import HybridRelayCore

/// A table in a class, since expectations cannot hold calls that change a value.
final class SourceTableUnderTest {
    private var table: SourceTable

    init(_ limits: SourceLimits) { table = SourceTable(limits: limits) }

    var count: Int { table.count }
    var limits: SourceLimits {
        get { table.limits }
        set { table.limits = newValue }
    }

    func arrive(_ source: SourcePrefix) -> Bool { table.arrive(source) }
    func leave(_ source: SourcePrefix) { table.leave(source) }
    func mayOpen(_ source: SourcePrefix, _ now: NIODeadline) -> Bool { table.mayOpen(source, now: now) }
    func sweep(_ now: NIODeadline) { table.sweep(now: now) }

    /// How many tunnels a source may open at once.
    func burst(_ source: SourcePrefix, _ now: NIODeadline, most: Int = 1000) -> Int {
        (0..<most).prefix { _ in mayOpen(source, now) }.count
    }

    /// A source of IPv4; each number is another.
    static func source(_ number: Int) -> SourcePrefix {
        let bytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        guard let address = SocketAddress(packed: bytes, port: 0) else { preconditionFailure("4 bytes are an address") }
        return SourcePrefix(address)
    }
}

@Suite("What each source has and does")
struct SourceTableTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let a = SourceTableUnderTest.source(1)
    private let b = SourceTableUnderTest.source(2)

    @Test("counts connections, for each source apart")
    func connections() {
        let table = SourceTableUnderTest(SourceLimits(open: 3))
        for _ in 0..<3 { #expect(table.arrive(a)) }
        #expect(!table.arrive(a))
        #expect(table.arrive(b))
        table.leave(a)
        #expect(table.arrive(a))
        #expect(!table.arrive(a))
        #expect(table.count == 2)
    }

    @Test("forgets a source with its last connection if it opened nothing")
    func forgetting() {
        let table = SourceTableUnderTest(SourceLimits())
        for _ in 0..<5 { #expect(table.arrive(a)) }
        for left in (0..<5).reversed() {
            #expect(table.count == 1)
            table.leave(a)
            #expect(table.count == (left == 0 ? 0 : 1))
        }
        table.leave(a)
        #expect(table.count == 0, "one leave too many is nothing")
        #expect(table.arrive(a))
    }

    @Test("has no limits where they are 0", arguments: [0, -1])
    func off(limit: Int) {
        let table = SourceTableUnderTest(SourceLimits(open: limit, newPerMinute: limit))
        for _ in 0..<10_000 { #expect(table.arrive(a)) }
        #expect(table.burst(a, start, most: 10_000) == 10_000)
        for _ in 0..<10_000 { table.leave(a) }
        #expect(table.count == 0)
    }

    @Test("lets a source open a minute's tunnels at once, then one in each share of a minute")
    func rate() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 60))
        #expect(table.burst(a, start) == 60)
        #expect(table.burst(b, start) == 60)
        #expect(!table.mayOpen(a, start + .milliseconds(999)))
        #expect(table.mayOpen(a, start + .seconds(1)))
        #expect(!table.mayOpen(a, start + .milliseconds(1999)))
        #expect(table.burst(a, start + .seconds(11)) == 10)
        #expect(table.burst(a, start + .seconds(71)) == 60, "a minute fills the bucket")
        #expect(table.burst(a, start + .hours(10)) == 60, "and nothing more")
    }

    @Test("keeps any rate", arguments: [1, 7, 59, 61, 1000, 100_000])
    func rates(perMinute: Int) {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: perMinute))
        #expect(table.burst(a, start, most: perMinute + 1) == perMinute)
        #expect(table.burst(a, start + .minutes(1), most: perMinute + 1) == perMinute)
        let share = TimeAmount.nanoseconds(60_000_000_000 / Int64(perMinute))
        #expect(!table.mayOpen(a, start + .minutes(1) + share - .nanoseconds(1)))
        #expect(table.mayOpen(a, start + .minutes(1) + share))
    }

    @Test("takes the largest numbers", arguments: [60_000_000_000, 60_000_000_001, Int.max])
    func largest(number: Int) {
        let table = SourceTableUnderTest(SourceLimits(open: number, newPerMinute: number, remembered: number))
        #expect(table.arrive(a))
        #expect(table.burst(a, start) == 1000)
    }

    @Test("a refused tunnel costs nothing")
    func refusals() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 2))
        #expect(table.burst(a, start) == 2)
        for second in 0..<30 { #expect(!table.mayOpen(a, start + .seconds(Int64(second)))) }
        #expect(table.mayOpen(a, start + .seconds(30)))
    }

    @Test("a clock that goes back gives nothing and takes nothing")
    func clock() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 2))
        #expect(table.burst(a, start) == 2)
        #expect(!table.mayOpen(a, start - .seconds(100)))
        #expect(table.mayOpen(a, start + .seconds(30)))
        table.sweep(start - .seconds(100))
        #expect(!table.mayOpen(a, start + .seconds(30)))
    }

    @Test("remembers what a source opened when it has hung up, for a minute")
    func remembering() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 60))
        #expect(table.arrive(a))
        #expect(table.burst(a, start) == 60)
        table.leave(a)
        #expect(table.count == 1)
        #expect(table.arrive(a))
        #expect(!table.mayOpen(a, start))
        table.leave(a)
        table.sweep(start + .milliseconds(59_999))
        #expect(table.count == 1)
        table.sweep(start + .seconds(60))
        #expect(table.count == 0)
    }

    @Test("a sweep leaves those alone that have a connection")
    func sweep() {
        let table = SourceTableUnderTest(SourceLimits(open: 1, newPerMinute: 1))
        #expect(table.arrive(a) && table.mayOpen(a, start))
        #expect(table.arrive(b) && table.mayOpen(b, start))
        table.leave(b)
        table.sweep(start + .hours(1))
        #expect(table.count == 1)
        #expect(!table.arrive(a))
        table.leave(a)
        #expect(table.count == 0)
    }

    @Test("forgets at once, without a sweep, who has nothing left when it leaves")
    func leavingLate() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 60))
        #expect(table.arrive(a) && table.arrive(b) && table.mayOpen(a, start))
        // Somebody else tells the time.
        #expect(table.mayOpen(b, start + .seconds(2)))
        table.leave(a)
        #expect(table.count == 1)
    }

    @Test("remembers only so many, and counts the connections of all the others still")
    func full() {
        let table = SourceTableUnderTest(SourceLimits(open: 2, newPerMinute: 1, remembered: 10))
        let sources = (0..<50).map { SourceTableUnderTest.source($0) }
        for source in sources {
            #expect(table.arrive(source) && table.mayOpen(source, start))
            #expect(!table.mayOpen(source, start))
        }
        #expect(table.count == 50)
        for source in sources { table.leave(source) }
        #expect(table.count == 10)
        #expect(sources.map { table.mayOpen($0, start) } == (0..<50).map { $0 >= 10 }, "the first ten are remembered")
        #expect(table.count == 10)
        for source in sources { #expect(table.arrive(source) && table.arrive(source) && !table.arrive(source)) }
        #expect(table.count == 50)
        for source in sources { for _ in 0..<2 { table.leave(source) } }
        table.sweep(start + .minutes(1))
        #expect(table.count == 0)
    }

    @Test("needs one place for a source that comes and goes")
    func comingAndGoing() {
        let table = SourceTableUnderTest(SourceLimits(newPerMinute: 60, remembered: 2))
        for _ in 0..<10 {
            #expect(table.arrive(a) && table.mayOpen(a, start))
            table.leave(a)
            #expect(table.count == 1)
        }
        #expect(table.arrive(b))
        #expect(table.burst(b, start) == 60)
        table.leave(b)
        #expect(table.count == 2)
        #expect(!table.mayOpen(b, start))
        // A sweep makes the places free again.
        let later = start + .minutes(1)
        table.sweep(later)
        #expect(table.count == 0)
        for source in [a, b] {
            #expect(table.arrive(source))
            #expect(table.burst(source, later) == 60)
            table.leave(source)
        }
        #expect(table.count == 2)
        #expect(!table.mayOpen(a, later) && !table.mayOpen(b, later))
    }

    @Test("takes other limits at any time")
    func otherLimits() {
        let table = SourceTableUnderTest(SourceLimits(open: 0, newPerMinute: 0))
        for _ in 0..<5 { #expect(table.arrive(a)) }
        #expect(table.burst(a, start, most: 100) == 100)
        table.limits = SourceLimits(open: 3, newPerMinute: 2)
        #expect(!table.arrive(a), "what was there before counts")
        for _ in 0..<3 { table.leave(a) }
        #expect(table.arrive(a))
        #expect(table.burst(a, start) == 2)
        table.limits = SourceLimits(open: 10, newPerMinute: 60)
        #expect(!table.mayOpen(a, start))
        #expect(table.mayOpen(a, start + .seconds(1)))
        for _ in 0..<3 { table.leave(a) }
        table.sweep(start + .minutes(2))
        #expect(table.count == 0)
    }
}
