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

    func add(_ source: SourcePrefix, _ now: NIODeadline) -> SourceTable.Rejection? {
        do throws(SourceTable.Rejection) {
            try table.addConnection(from: source, now: now)
            return nil
        } catch {
            return error
        }
    }

    func remove(_ source: SourcePrefix, isPhone: Bool = false) {
        table.removeConnection(from: source, isPhone: isPhone)
    }

    func admitTunnel(_ source: SourcePrefix, _ now: NIODeadline) -> Bool { table.admitTunnel(from: source, now: now) }
    func charge(_ source: SourcePrefix, _ connections: Int, _ now: NIODeadline) {
        table.charge(source, connections: connections, now: now)
    }
    func sweep(_ now: NIODeadline) { table.sweep(now: now) }

    /// Opens a connection and a tunnel, and closes both.
    func open(_ source: SourcePrefix, _ now: NIODeadline) -> Bool {
        guard add(source, now) == nil else { return false }
        let isPhone = admitTunnel(source, now)
        remove(source, isPhone: isPhone)
        return isPhone
    }

    /// Returns the number of tunnels that a source may open at once.
    func burst(_ source: SourcePrefix, _ now: NIODeadline, most: Int = 1000) -> Int {
        (0..<most).prefix { _ in open(source, now) }.count
    }

    /// Returns the number of connections that a source may open, each closed before the next.
    func arrivals(_ source: SourcePrefix, _ now: NIODeadline, most: Int = 1000) -> Int {
        (0..<most).prefix { _ in
            guard add(source, now) == nil else { return false }
            remove(source)
            return true
        }.count
    }

    /// Returns the IPv4 source of a number.
    static func source(_ number: Int) -> SourcePrefix {
        source((0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
    }

    /// Returns a /64 of an IPv6 /48.
    static func source(network: Int, _ subnet: Int) -> SourcePrefix {
        let numbers = [0x2001, 0xDB8, network, subnet, 0, 0, 0, 1]
        return source(numbers.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] })
    }

    private static func source(_ bytes: [UInt8]) -> SourcePrefix {
        guard let address = SocketAddress(packed: bytes, port: 0) else {
            preconditionFailure("4 or 16 bytes are an address")
        }
        return SourcePrefix(address)
    }
}

@Suite("The source table")
struct SourceTableTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let a = SourceTableUnderTest.source(1)
    private let b = SourceTableUnderTest.source(2)

    // MARK: Connections

    @Test("counts the connections of each source separately")
    func connections() {
        let table = SourceTableUnderTest(SourceLimits(open: 3))
        for _ in 0..<3 { #expect(table.add(a, start) == nil) }
        #expect(table.add(a, start) == .source)
        #expect(table.add(b, start) == nil)
        table.remove(a)
        #expect(table.add(a, start) == nil)
        #expect(table.add(a, start) == .source)
        #expect(table.count == 2)
    }

    @Test("forgets a source with full buckets after its last connection")
    func forgetting() {
        let table = SourceTableUnderTest(SourceLimits(connectionsPerMinute: 0))
        for _ in 0..<5 { #expect(table.add(a, start) == nil) }
        for left in (0..<5).reversed() {
            #expect(table.count == 1)
            table.remove(a)
            #expect(table.count == (left == 0 ? 0 : 1))
        }
        table.remove(a)
        #expect(table.count == 0, "an extra removal has no effect")
        #expect(table.add(a, start) == nil)
    }

    @Test("has no limits if they are 0 or less", arguments: [0, -1])
    func off(limit: Int) {
        let limits = SourceLimits(open: limit, connectionsPerMinute: limit, newPerMinute: limit, networkFactor: limit)
        let table = SourceTableUnderTest(limits)
        for source in [a, SourceTableUnderTest.source(network: 1, 1)] {
            for _ in 0..<10_000 { #expect(table.add(source, start) == nil && table.admitTunnel(source, start)) }
            table.charge(source, 1_000_000, start)
            #expect(table.arrivals(source, start, most: 10_000) == 10_000)
            for _ in 0..<10_000 { table.remove(source, isPhone: true) }
        }
        #expect(table.count == 0)
    }

    @Test("reserves an eighth of a source's connections for clients")
    func clients() {
        let table = SourceTableUnderTest(SourceLimits(open: 64, newPerMinute: 0))
        for number in 0..<64 {
            #expect(table.add(a, start) == nil)
            #expect(table.admitTunnel(a, start) == (number < 56))
        }
        #expect(table.add(a, start) == .source)
        #expect(table.add(b, start) == nil && table.admitTunnel(b, start))
        table.remove(a)
        #expect(table.add(a, start) == nil)
        #expect(!table.admitTunnel(a, start), "a client has left, but no phone")
        table.remove(a, isPhone: true)
        #expect(table.add(a, start) == nil)
        #expect(table.admitTunnel(a, start))
    }

    @Test("reserves nothing of fewer than eight connections", arguments: [(1, 1), (7, 7), (8, 7), (15, 14), (16, 14)])
    func fewConnections(open: Int, phones: Int) {
        let table = SourceTableUnderTest(SourceLimits(open: open))
        var admitted = 0
        for _ in 0..<open {
            #expect(table.add(a, start) == nil)
            if table.admitTunnel(a, start) { admitted += 1 }
        }
        #expect(admitted == phones)
    }

    // MARK: Networks

    @Test("limits the connections of all /64s of a /48 together, but not those of neighbors")
    func networkConnections() {
        let table = SourceTableUnderTest(SourceLimits(open: 3, networkFactor: 4))
        for subnet in 0..<4 {
            for _ in 0..<3 { #expect(table.add(SourceTableUnderTest.source(network: 1, subnet), start) == nil) }
        }
        #expect(table.add(SourceTableUnderTest.source(network: 1, 4), start) == .network)
        #expect(table.add(SourceTableUnderTest.source(network: 1, 0), start) == .source)
        #expect(table.add(SourceTableUnderTest.source(network: 2, 4), start) == nil)
        #expect(table.count == 4 + 1 + 2 + 2, "four /64s and another, two /48s, a /40 and a /32")
        for number in 0..<20 { #expect(table.add(SourceTableUnderTest.source(number), start) == nil) }
        table.remove(SourceTableUnderTest.source(network: 1, 3))
        #expect(table.add(SourceTableUnderTest.source(network: 1, 4), start) == nil)
    }

    @Test("limits the connections of all /48s of a /40 and of a /32 together")
    func largeNetworks() {
        let table = SourceTableUnderTest(SourceLimits(open: 2, connectionsPerMinute: 0, networkFactor: 1))
        let subnets = (0..<8).map { SourceTableUnderTest.source(network: $0, 0) }
        for subnet in subnets.prefix(2) {
            for _ in 0..<2 { #expect(table.add(subnet, start) == nil) }
        }
        #expect(table.add(subnets[2], start) == .network, "a /40 has twice as much as a /48")
        for network in [0x100, 0x200] {
            for _ in 0..<2 { #expect(table.add(SourceTableUnderTest.source(network: network, 0), start) == nil) }
        }
        #expect(table.add(SourceTableUnderTest.source(network: 0x300, 0), start) == .network, "a /32 four times")
        #expect(table.add(a, start) == nil)
    }

    @Test("limits new tunnels, new connections and phones of a /48")
    func networkRates() {
        let limits = SourceLimits(open: 16, connectionsPerMinute: 20, newPerMinute: 10, networkFactor: 2)
        let table = SourceTableUnderTest(limits)
        let subnets = (0..<4).map { SourceTableUnderTest.source(network: 1, $0) }
        #expect(subnets.map { table.burst($0, start) } == [10, 10, 0, 0], "tunnels")
        // 22 connections and two that were refused a tunnel.
        #expect(subnets.map { table.arrivals($0, start) } == [9, 7, 0, 0], "connections")
        let phones = SourceTableUnderTest(SourceLimits(open: 16, newPerMinute: 0, networkFactor: 2))
        var admitted = 0
        for number in 0..<32 {
            #expect(phones.add(subnets[number % 4], start) == nil)
            if phones.admitTunnel(subnets[number % 4], start) { admitted += 1 }
        }
        #expect(admitted == 28, "an eighth of 32 is reserved")
    }

    @Test("a connection that the network rejects does not count for its source")
    func networkRejections() {
        let table = SourceTableUnderTest(SourceLimits(open: 2, connectionsPerMinute: 4, networkFactor: 1))
        let subnets = (0..<2).map { SourceTableUnderTest.source(network: 1, $0) }
        for _ in 0..<2 { #expect(table.add(subnets[0], start) == nil) }
        for _ in 0..<10 { #expect(table.add(subnets[1], start) == .network) }
        for _ in 0..<2 { table.remove(subnets[0]) }
        for _ in 0..<2 { #expect(table.add(subnets[1], start) == nil) }
    }

    // MARK: Memory

    @Test("remembers a disconnected source until its buckets are full")
    func remembering() {
        let table = SourceTableUnderTest(SourceLimits(open: 0, connectionsPerMinute: 0))
        table.sweep(start)
        #expect(table.burst(a, start) == 60)
        #expect(table.count == 1)
        #expect(!table.open(a, start))
        table.sweep(start + .seconds(59))
        #expect(!table.open(a, start + .milliseconds(999)))
        for minutes in 2...5 { table.sweep(start + .minutes(Int64(minutes))) }
        #expect(table.count == 0)
    }

    @Test("a sweep keeps sources with a connection")
    func sweep() {
        let table = SourceTableUnderTest(SourceLimits(open: 1, newPerMinute: 1))
        #expect(table.add(a, start) == nil && table.admitTunnel(a, start))
        #expect(table.open(b, start))
        for minutes in 0...60 { table.sweep(start + .minutes(Int64(minutes))) }
        #expect(table.count == 1)
        #expect(table.add(a, start + .hours(1)) == .source)
        table.remove(a, isPhone: true)
        #expect(table.count == 0)
    }

    @Test("remembers a limited number of sources, the latest, but counts the connections of all")
    func full() {
        let limits = SourceLimits(open: 2, connectionsPerMinute: 0, newPerMinute: 1, remembered: 10)
        let table = SourceTableUnderTest(limits)
        let sources = (0..<50).map { SourceTableUnderTest.source($0) }
        for source in sources { #expect(table.add(source, start) == nil && table.admitTunnel(source, start)) }
        #expect(table.count == 50)
        for source in sources { table.remove(source, isPhone: true) }
        #expect(table.count == 10)
        for source in sources.suffix(5) { #expect(!table.open(source, start)) }
        #expect(table.open(sources[0], start), "forgotten")
        for source in sources {
            #expect(table.add(source, start) == nil && table.add(source, start) == nil)
            #expect(table.add(source, start) == .source)
        }
        #expect(table.count == 50)
        for source in sources { for _ in 0..<2 { table.remove(source) } }
        #expect(table.count <= 10)
    }

    @Test("a source that returns keeps its place among many that come once")
    func returning() {
        let table = SourceTableUnderTest(
            SourceLimits(open: 0, connectionsPerMinute: 0, newPerMinute: 5, remembered: 100)
        )
        #expect(table.burst(a, start) == 5)
        for number in 0..<10_000 {
            #expect(table.open(SourceTableUnderTest.source(100 + number), start))
            if number % 40 == 0 { #expect(!table.open(a, start)) }
            #expect(table.count <= 100)
        }
    }

    @Test("accepts new limits at any time")
    func otherLimits() {
        let table = SourceTableUnderTest(SourceLimits(open: 0, connectionsPerMinute: 0, newPerMinute: 0))
        let subnet = SourceTableUnderTest.source(network: 1, 1)
        for source in [a, subnet] {
            for _ in 0..<5 { #expect(table.add(source, start) == nil) }
            #expect(table.burst(source, start, most: 100) == 100)
        }
        table.limits = SourceLimits(open: 3, connectionsPerMinute: 0, newPerMinute: 2, networkFactor: 1)
        #expect(table.add(a, start) == .source, "existing connections count")
        #expect(table.add(SourceTableUnderTest.source(network: 1, 2), start) == .network)
        for _ in 0..<3 { table.remove(a) }
        #expect(table.burst(a, start) == 2)
        table.limits = SourceLimits(open: 10, newPerMinute: 60)
        #expect(!table.open(a, start))
        #expect(table.open(a, start + .seconds(1)))
    }
}
