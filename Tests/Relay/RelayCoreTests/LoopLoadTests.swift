// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import Testing

@testable import HybridRelayCore

@Suite("Event loops that accept connections", .timeLimit(.minutes(10)))
struct LoopLoadTests {
    private static let calm = TimeAmount.seconds(1)

    @Test("need a helper if they are busy for 70 % of 10 ms, until they are not for a second")
    func load() {
        var now = NIODeadline.uptimeNanoseconds(1)
        var load = LoopLoad(since: now)
        func pass(_ busy: TimeAmount, of time: TimeAmount, _ expected: Bool, line: Int = #line) {
            now = now + time
            load.record(now - busy, until: now)
            #expect(load.needsHelper == expected, "line \(line)")
        }
        pass(.microseconds(6_900), of: .milliseconds(10), false)
        // Not measured yet: one short turn says little.
        pass(.milliseconds(9), of: .milliseconds(9), false)
        pass(.milliseconds(0), of: .milliseconds(9), false)
        for _ in 0..<9 { pass(.microseconds(700), of: .milliseconds(1), false) }
        pass(.microseconds(700), of: .milliseconds(1), true)
        // A helper takes half of the work.
        for _ in 0..<300 { pass(.milliseconds(3), of: .milliseconds(10), true) }
        for _ in 0..<99 { pass(.milliseconds(2), of: .milliseconds(10), true) }
        pass(.milliseconds(3), of: .milliseconds(10), true)
        for _ in 0..<99 { pass(.milliseconds(2), of: .milliseconds(10), true) }
        pass(.milliseconds(2), of: .milliseconds(10), false)
        pass(.milliseconds(8), of: .milliseconds(10), true)
        pass(.zero, of: Self.calm, false)
    }

    @Test("are as few as the load needs, one more for each that is busy")
    func chain() throws {
        let relay = try HandDrivenRelay(loops: 3)
        let socket = try ListeningSocket.open(try SocketAddress(ipAddress: "127.0.0.1", port: 0), isIPv6Only: false)
        defer { Glibc.close(socket) }
        let address = try #require(ListeningSocket.address(of: socket))
        for loop in relay.loops { loop.accept(on: socket) }
        var ends: [BlockingSocket] = []
        /// Connects, lets the loops from the last one on accept, and returns those that had something to do.
        func connect() throws -> [Int] {
            ends.append(try .connected(to: address))
            return relay.loops.indices.reversed().filter { relay.turn($0) }
        }
        func keepBusy(_ loop: Int) {
            // The time of the other loops belongs to this measurement, too, so another one begins.
            relay.turn(loop, busy: .zero, of: .milliseconds(10))
            relay.turn(loop, busy: .milliseconds(10), of: .milliseconds(10))
        }
        #expect(try connect() == [0])
        keepBusy(1)
        relay.turn(2)
        #expect(try connect() == [0], "a loop that does not accept needs no helper")
        keepBusy(0)
        relay.turn(1)
        #expect(try connect() == [1])
        keepBusy(1)
        relay.turn(2)
        #expect(try connect() == [2])
        // The first one stops its helper, which stops the last one.
        relay.turn(0, busy: .zero, of: Self.calm)
        ends.append(try .connected(to: address))
        keepBusy(1)
        relay.turn(2)
        #expect(try connect() == [0])
        #expect(relay.loops.map(\.connectionCount) == [3, 2, 1], "the kernel may have woken only the helper")
    }
}
