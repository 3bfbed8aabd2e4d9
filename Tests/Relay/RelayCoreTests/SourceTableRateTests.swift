// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import HybridRelayCore

@Suite("Rates of the source table")
struct SourceTableRateTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let a = SourceTableUnderTest.source(1)
    private let b = SourceTableUnderTest.source(2)

    private func table(tunnels: Int) -> SourceTableUnderTest {
        SourceTableUnderTest(SourceLimits(open: 0, connectionsPerMinute: 0, newPerMinute: tunnels))
    }

    @Test("admits a minute's tunnels at once, then one after each share of a minute")
    func tunnels() {
        let table = table(tunnels: 60)
        #expect(table.burst(a, start) == 60)
        #expect(table.burst(b, start) == 60)
        #expect(!table.open(a, start + .milliseconds(999)))
        #expect(table.open(a, start + .seconds(1)))
        #expect(!table.open(a, start + .milliseconds(1999)))
        #expect(table.burst(a, start + .seconds(11)) == 10)
        #expect(table.burst(a, start + .seconds(71)) == 60, "a minute fills the bucket")
        #expect(table.burst(a, start + .hours(10)) == 60, "no time adds more")
    }

    @Test("The debt of a bucket is at most its capacity, so it has room again after a minute")
    func debt() {
        let rate = EventRate(perMinute: 60, burst: 6)
        var bucket = RateBucket()
        for _ in 0..<1000 { bucket.take(1, of: rate, now: start) }
        #expect(!bucket.hasRoom(for: rate, now: start + .seconds(6)))
        #expect(bucket.hasRoom(for: rate, now: start + .seconds(7)))
        bucket.take(1, of: rate, now: start)
        #expect(bucket.hasRoom(for: rate, now: start + .seconds(7)), "further events add nothing")
    }

    @Test("keeps any rate", arguments: [1, 7, 59, 61, 1000, 100_000])
    func rates(perMinute: Int) {
        let table = table(tunnels: perMinute)
        #expect(table.burst(a, start, most: perMinute + 1) == perMinute)
        #expect(table.burst(a, start + .minutes(1), most: perMinute + 1) == perMinute)
        let share = TimeAmount.nanoseconds(60_000_000_000 / Int64(perMinute))
        #expect(!table.open(a, start + .minutes(1) + share - .nanoseconds(1)))
        #expect(table.open(a, start + .minutes(1) + share))
    }

    @Test("accepts the largest numbers", arguments: [60_000_000_000, 60_000_000_001, Int.max])
    func largest(number: Int) {
        let limits = SourceLimits(
            open: number,
            connectionsPerMinute: number,
            newPerMinute: number,
            networkFactor: number,
            remembered: number
        )
        let table = SourceTableUnderTest(limits)
        for source in [a, SourceTableUnderTest.source(network: 1, 1)] {
            #expect(table.add(source, start) == nil)
            #expect(table.burst(source, start) == 1000)
            table.charge(source, 12, start)
        }
    }

    @Test("a refused tunnel or connection costs nothing")
    func refusals() {
        let table = SourceTableUnderTest(SourceLimits(open: 0, connectionsPerMinute: 4, newPerMinute: 2))
        #expect(table.burst(a, start) == 2)
        #expect(table.arrivals(a, start) == 1, "a refused tunnel is a connection, too")
        for second in 0..<15 { #expect(table.add(a, start + .milliseconds(Int64(second) * 999)) == .rate) }
        #expect(table.add(a, start + .seconds(15)) == nil)
        #expect(!table.admitTunnel(a, start + .seconds(29)))
        #expect(table.admitTunnel(a, start + .seconds(30)))
    }

    @Test("a clock that goes back has no effect")
    func clock() {
        let table = table(tunnels: 2)
        #expect(table.burst(a, start) == 2)
        #expect(!table.open(a, start - .seconds(100)))
        #expect(table.open(a, start + .seconds(30)))
        table.sweep(start - .seconds(100))
        #expect(!table.open(a, start + .seconds(30)))
    }

    @Test("admits 240 connections at once by default, then four a second; others are not affected")
    func connections() {
        let table = SourceTableUnderTest(SourceLimits())
        #expect(table.arrivals(a, start) == 240)
        #expect(table.add(a, start) == .rate)
        #expect(table.arrivals(b, start) == 240)
        #expect(table.arrivals(a, start + .seconds(1)) == 4)
        #expect(table.arrivals(a, start + .seconds(61)) == 240)
    }

    @Test(
        "failed requests count as further connections, up to half of the rate",
        arguments: [(4, 30 + 120), (12, 10 + 120), (240, 1 + 120)]
    )
    func failures(cost: Int, admitted: Int) {
        let table = SourceTableUnderTest(SourceLimits())
        func fail(_ now: NIODeadline) -> Bool {
            guard table.add(a, now) == nil else { return false }
            table.charge(a, cost - 1, now)
            table.remove(a)
            return true
        }
        #expect((0..<1000).prefix { _ in fail(start) }.count == admitted)
        #expect(table.add(a, start) == .rate)
        #expect(table.add(b, start) == nil)
    }

    @Test("any number of failures leaves half of a source's rate to others behind the same address")
    func failuresOfNeighbors() {
        let table = SourceTableUnderTest(SourceLimits())
        for _ in 0..<64 { #expect(table.add(a, start) == nil) }
        for _ in 0..<1000 { table.charge(a, 11, start) }
        for _ in 0..<64 { table.remove(a) }
        #expect(table.arrivals(a, start) == 120)
    }

    /// The arithmetic of docs/operations.md: sixty sign-ins in a minute of thirty seconds each, both ends in one office.
    @Test("an office behind one address stays within the defaults")
    func office() {
        let table = SourceTableUnderTest(SourceLimits())
        var open: [(isPhone: Bool, until: NIODeadline)] = []
        for second in 0..<600 {
            let now = start + .seconds(Int64(second))
            for end in open where end.until <= now { table.remove(a, isPhone: end.isPhone) }
            open.removeAll { $0.until <= now }
            for isPhone in [true, false] {
                #expect(table.add(a, now) == nil, "\(second)")
                if isPhone { #expect(table.admitTunnel(a, now), "\(second)") }
                open.append((isPhone, now + .seconds(30)))
            }
            // A tenth of the clients comes too late and tries again.
            if second % 10 == 0 {
                #expect(table.add(a, now) == nil)
                table.charge(a, 3, now)
                table.remove(a)
            }
        }
        #expect(open.count == 60)
    }
}
