// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import Testing

@testable import HybridRelayCore

@Suite("Events and messages for connections that have left")
struct LateEventTests {
    private static let other = String(repeating: "d", count: 32)

    @Test("an event does not reach the connection that has the same descriptor number by then")
    func sameTurn() throws {
        let relay = try HandDrivenRelay()
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
        let socket = try ListeningSocket.open(address, isIPv6Only: false)
        defer { close(socket) }
        relay.loops[0].accept(on: socket)
        let bound = try #require(ListeningSocket.address(of: socket))
        for _ in 0..<50 {
            let (phone, client) = try relay.pair()
            // In this order: writing to the phone fails, so the client's event closes the phone's descriptor. Its number
            // is free when the new connection is accepted, and the phone's own event comes last.
            try client.send(Wire.frame([1]))
            let new = try WireEnd(try BlockingSocket.connected(to: bound))
            try new.send(WireEnd.request(tunnel: Self.other))
            phone.close()
            relay.turn(0)
            try relay.settle()
            #expect(client.takeFrames().map(\.closeCode) == [1001])
            // The request may take a moment through the loopback interface.
            let deadline = NIODeadline.now() + .seconds(60)
            while new.received.isEmpty, !new.hasEnded, NIODeadline.now() < deadline {
                try relay.settle()
                try new.pump()
            }
            #expect(new.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
            for end in [client, new] { end.close() }
            while relay.connections > 0, NIODeadline.now() < deadline { try relay.settle() }
        }
        #expect(relay.connections == 0)
    }

    @Test("a message of another loop does not reach the connection that has the same place by then")
    func lateMessage() throws {
        let relay = try HandDrivenRelay(loops: 2)
        let (phone, client) = try relay.pair()
        // A sweep records that the tunnel has carried data, at the time of the sweep.
        for seconds: Int64 in [1, 200] { try relay.advance(by: .seconds(seconds)) }
        let (otherPhone, routing) = try relay.phone(tunnel: Self.other)
        let otherClient = try relay.connect(onLoop: 1)
        try otherClient.send(WireEnd.request(routing: routing, tunnel: Self.other))
        while relay.turn(1) {}
        // The first tunnel has been idle for too long, which the second loop tells the first one. Meanwhile, both ends
        // leave, and the other client takes a place that has become free.
        relay.loops[1].sweep(now: relay.now + .seconds(101))
        for end in [phone, client] { end.close() }
        try relay.settle()
        #expect(otherClient.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        try otherPhone.send(Wire.frame([1]))
        try otherClient.send(Wire.frame([2]))
        try relay.settle()
        #expect(otherClient.takeFrames().map(\.payload) == [[1]])
        #expect(otherPhone.takeFrames().map(\.payload) == [[2]])
    }
}
