// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridPrimitives
import NIOCore
import Testing

@testable import HybridRelayCore

@Suite("The tunnel table")
struct TunnelTableTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func tunnel(_ number: UInt8) throws -> TunnelID {
        try #require(TunnelID(bytes: [UInt8](repeating: number, count: 16)))
    }

    private func codes(_ closeInstructions: [TunnelTable<Int>.CloseInstruction]) -> [Int: UInt16?] {
        Dictionary(uniqueKeysWithValues: closeInstructions.map { ($0.member, $0.code?.rawValue) })
    }

    @Test("assigns a routing ID of the node number and the check byte")
    func routing() throws {
        let table = TableUnderTest()
        let opening = try #require(table.open(tunnel(1), by: 1, check: 0xAB, now: Self.start))
        #expect(opening.key.routing.hex == "1234ab")
        #expect(opening.closeInstructions.isEmpty)
        #expect(table.count == 1)
    }

    @Test("returns the phone to the first client only")
    func join() throws {
        let table = TableUnderTest()
        let key = try #require(table.open(tunnel(1), by: 1, check: 0, now: Self.start)).key
        #expect(table.join(key, by: 2, now: Self.start) == 1)
        #expect(table.join(key, by: 3, now: Self.start) == nil)
    }

    @Test("does not join with a wrong check byte, node or tunnel ID")
    func wrongKey() throws {
        let table = TableUnderTest()
        let key = try #require(table.open(tunnel(1), by: 1, check: 7, now: Self.start)).key
        for (routing, id) in [
            (RoutingID(node: 0x1234, check: 8), try tunnel(1)), (RoutingID(node: 0x1235, check: 7), try tunnel(1)),
            (RoutingID(node: 0, check: 7), try tunnel(1)), (key.routing, try tunnel(2)),
        ] {
            #expect(table.join(TunnelIdentity(routing: routing, tunnel: id), by: 2, now: Self.start) == nil)
        }
        #expect(table.join(key, by: 2, now: Self.start) == 1)
    }

    @Test("allows four phones to wait under one tunnel ID and closes the oldest for the fifth")
    func displaced() throws {
        let table = TableUnderTest()
        var keys: [TunnelIdentity] = []
        for phone in 1...4 {
            let opening = try #require(table.open(tunnel(1), by: phone, check: 9, now: Self.start))
            #expect(opening.closeInstructions.isEmpty)
            keys.append(opening.key)
        }
        #expect(Set(keys).count == 4)
        let fifth = try #require(table.open(tunnel(1), by: 5, check: 9, now: Self.start))
        #expect(codes(fifth.closeInstructions) == [1: 1008])
        #expect(table.join(keys[0], by: 10, now: Self.start) == nil)
        #expect(table.join(keys[1], by: 11, now: Self.start) == 2)
        #expect(table.join(fifth.key, by: 12, now: Self.start) == 5)
        let left = table.leave(keys[0], .phone, bytes: 0, now: Self.start)
        #expect(left.record?.reason == .superseded)
    }

    @Test("does not count paired tunnels as waiting")
    func pairedDoNotWait() throws {
        let table = TableUnderTest()
        for phone in 1...10 {
            let opening = try #require(table.open(tunnel(1), by: phone, check: 0, now: Self.start))
            #expect(opening.closeInstructions.isEmpty)
            #expect(table.join(opening.key, by: 100 + phone, now: Self.start) == phone)
        }
    }

    @Test("is full when all routing IDs of a tunnel ID are in use, until a tunnel is removed")
    func routingIDsExhausted() throws {
        let table = TableUnderTest()
        var keys: [TunnelIdentity] = []
        for phone in 0..<256 {
            let key = try #require(table.open(tunnel(1), by: phone, check: 0xF0, now: Self.start)).key
            _ = table.join(key, by: 1000 + phone, now: Self.start)
            keys.append(key)
        }
        #expect(Set(keys).count == 256)
        #expect(table.open(try tunnel(1), by: 999, check: 0xF0, now: Self.start) == nil)
        _ = table.leave(keys[3], .phone, bytes: 0, now: Self.start)
        #expect(table.open(try tunnel(1), by: 999, check: 0xF0, now: Self.start) == nil)
        _ = table.leave(keys[3], .client, bytes: 0, now: Self.start)
        #expect(table.open(try tunnel(1), by: 999, check: 0xF0, now: Self.start)?.key == keys[3])
    }

    @Test("refuses tunnels beyond the limit, including closing ones")
    func full() throws {
        let table = TableUnderTest { $0.tunnels = 2 }
        let first = try #require(table.open(tunnel(1), by: 1, check: 0, now: Self.start)).key
        _ = try #require(table.open(tunnel(2), by: 2, check: 0, now: Self.start))
        #expect(table.open(try tunnel(3), by: 3, check: 0, now: Self.start) == nil)
        _ = table.end(first, .unclaimed)
        #expect(table.open(try tunnel(3), by: 3, check: 0, now: Self.start) == nil)
        _ = table.leave(first, .phone, bytes: 0, now: Self.start)
        #expect(table.open(try tunnel(3), by: 3, check: 0, now: Self.start) != nil)
    }

    @Test("closes an unclaimed phone exactly at its deadline")
    func unclaimed() throws {
        let table = TableUnderTest()
        let key = try #require(table.open(tunnel(1), by: 1, check: 0, now: Self.start)).key
        #expect(table.sweep(now: Self.start + .seconds(120) - .nanoseconds(1)).isEmpty)
        #expect(codes(table.sweep(now: Self.start + .seconds(120))) == [1: 1008])
        #expect(table.sweep(now: Self.start + .seconds(121)).isEmpty)
        #expect(table.join(key, by: 2, now: Self.start + .seconds(121)) == nil)
        #expect(table.leave(key, .phone, bytes: 3, now: Self.start + .seconds(122)).record?.reason == .unclaimed)
        #expect(table.count == 0)
    }

    @Test("closes an idle pair after its last data")
    func idle() throws {
        let table = TableUnderTest()
        let key = try #require(table.open(tunnel(1), by: 1, check: 0, now: Self.start)).key
        _ = table.join(key, by: 2, now: Self.start + .seconds(10))
        #expect(table.sweep(now: Self.start + .seconds(200)).isEmpty)
        table.recordData(key, now: Self.start + .seconds(200))
        #expect(table.sweep(now: Self.start + .seconds(499)).isEmpty)
        #expect(codes(table.sweep(now: Self.start + .seconds(500))) == [1: 1008, 2: 1008])
    }

    @Test("closes a busy pair at its longest lifetime")
    func lifetime() throws {
        let table = TableUnderTest()
        let key = try #require(table.open(tunnel(1), by: 1, check: 0, now: Self.start)).key
        _ = table.join(key, by: 2, now: Self.start)
        for second in stride(from: Int64(0), to: 600, by: 50) {
            #expect(table.sweep(now: Self.start + .seconds(second)).isEmpty)
            table.recordData(key, now: Self.start + .seconds(second))
        }
        #expect(codes(table.sweep(now: Self.start + .seconds(600))) == [1: 1008, 2: 1008])
        _ = table.leave(key, .phone, bytes: 1, now: Self.start + .seconds(601))
        let record = table.leave(key, .client, bytes: 2, now: Self.start + .seconds(601)).record
        #expect(record == TunnelSummary(reason: .outlived, wasPaired: true, lifetime: .seconds(601), bytes: 3))
    }

    @Test("removes a phone that left before its client joined")
    func abandoned() throws {
        let table = TableUnderTest()
        let key = try #require(table.open(tunnel(1), by: 1, check: 0, now: Self.start)).key
        let left = table.leave(key, .phone, bytes: 5, now: Self.start + .seconds(2))
        #expect(left.closeInstructions.isEmpty)
        #expect(left.record == TunnelSummary(reason: .abandoned, wasPaired: false, lifetime: .seconds(2), bytes: 5))
        #expect(table.join(key, by: 2, now: Self.start) == nil)
    }

    @Test("closes the other end with 1001 when one vanishes", arguments: [TunnelSide.phone, .client])
    func vanished(side: TunnelSide) throws {
        let table = TableUnderTest()
        let key = try #require(table.open(tunnel(1), by: 1, check: 0, now: Self.start)).key
        _ = table.join(key, by: 2, now: Self.start)
        let first = table.leave(key, side, bytes: 1, now: Self.start)
        #expect(codes(first.closeInstructions) == [side == .phone ? 2 : 1: 1001])
        #expect(first.record == nil)
        let last = table.leave(key, side == .phone ? .client : .phone, bytes: 1, now: Self.start)
        #expect(last.closeInstructions.isEmpty)
        #expect(last.record?.reason == .vanished(side))
        #expect(table.count == 0)
    }

    @Test("ends a tunnel only once")
    func endsOnce() throws {
        let table = TableUnderTest()
        let key = try #require(table.open(tunnel(1), by: 1, check: 0, now: Self.start)).key
        _ = table.join(key, by: 2, now: Self.start)
        let code = try #require(CloseCode(rawValue: 4001))
        #expect(codes(table.end(key, .closed(by: .client, code: code))) == [1: 4001, 2: 4001])
        #expect(table.end(key, .exhausted).isEmpty)
        table.recordData(key, now: Self.start + .seconds(5))
        #expect(table.sweep(now: Self.start + .hours(1)).isEmpty)
        _ = table.leave(key, .client, bytes: 0, now: Self.start)
        #expect(table.leave(key, .phone, bytes: 0, now: Self.start).record?.reason == .closed(by: .client, code: code))
    }

    @Test("closes the violating end with its code and the other end with 1001")
    func violated() throws {
        let table = TableUnderTest()
        let key = try #require(table.open(tunnel(1), by: 1, check: 0, now: Self.start)).key
        _ = table.join(key, by: 2, now: Self.start)
        #expect(codes(table.end(key, .violated(by: .phone, .text))) == [1: 1003, 2: 1001])
    }

    @Test("ignores unknown keys")
    func unknownKey() throws {
        let table = TableUnderTest()
        let key = TunnelIdentity(routing: RoutingID(node: 0x1234, check: 0), tunnel: try tunnel(1))
        table.recordData(key, now: Self.start)
        #expect(table.end(key, .shutdown).isEmpty)
        let left = table.leave(key, .phone, bytes: 1, now: Self.start)
        #expect(left.closeInstructions.isEmpty && left.record == nil && table.count == 0)
    }

    @Test("reports lifetimes in coarse classes")
    func lifetimeClasses() {
        let expected: [(TimeAmount, String)] = [
            (.milliseconds(999), "<1s"), (.seconds(1), "<10s"), (.seconds(10), "<1min"), (.minutes(1), "<10min"),
            (.minutes(10), ">=10min"),
        ]
        for (lifetime, label) in expected {
            let record = TunnelSummary(reason: .idle, wasPaired: true, lifetime: lifetime, bytes: 0)
            #expect(record.lifetimeClass == label)
        }
    }

    @Test("has a label for every reason, and sends no reserved code")
    func ends() {
        let ends: [TunnelEndReason] =
            [
                .closed(by: .phone, code: nil), .vanished(.client), .abandoned, .unclaimed, .superseded, .idle,
                .outlived, .exhausted, .unresponsive(.client), .shutdown, .declined, .unreachable,
                .revoked(.contactUnreachable), .undelivered(.pushUnavailable),
            ] + FrameReaderTests.violations.map { .violated(by: .phone, $0.0) }
        #expect(Set(ends.map(\.label)) == Set(TunnelEndReason.labels))
        for end in ends where end != .closed(by: .phone, code: nil) {
            #expect(end.closeCode(for: .phone) != nil && end.closeCode(for: .client) != nil)
        }
        for code in [UInt16](0...999) + [1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535] {
            #expect(CloseCode(rawValue: code) == nil)
        }
        for code: UInt16 in [1000, 1001, 1003, 1007, 1011, 1014, 3000, 4999] {
            #expect(CloseCode(rawValue: code)?.rawValue == code)
        }
    }
}
