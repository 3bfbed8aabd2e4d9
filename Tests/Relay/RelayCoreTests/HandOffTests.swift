// SPDX-License-Identifier: Apache-2.0

import HybridThreads
import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("Connections that move to the loop of the other end", .timeLimit(.minutes(10)))
struct HandOffTests {
    private static let first = Wire.frame([1, 2, 3])
    private static let second = Wire.frame([UInt8](repeating: 7, count: 130))

    /// The moments at which the rest of the input arrives.
    enum Moment: CaseIterable {
        case beforeTheRequestIsRead
        case inTransit
        case afterwards
    }

    @Test("lose nothing wherever the input is cut and whenever the rest arrives", arguments: Moment.allCases)
    func cuts(moment: Moment) throws {
        let relay = try HandDrivenRelay(loops: 2)
        for cut in 0...(WireEnd.request(routing: "000000").count + Self.first.count + Self.second.count) {
            let (phone, routing) = try relay.phone(onLoop: 0)
            let wire = WireEnd.request(routing: routing) + Self.first + Self.second
            let client = try relay.connect(onLoop: 1)
            try client.socket.send(Array(wire[..<cut]))
            if moment != .beforeTheRequestIsRead { while relay.turn(1) {} }
            if moment == .afterwards { try relay.settle() }
            try client.socket.send(Array(wire[cut...]))
            try relay.settle()
            let head = try #require(client.takeHead(), "\(cut)")
            try #require(head.hasPrefix("HTTP/1.1 101 "), "\(cut)")
            #expect(phone.takeFrames().map(\.payload) == [[1, 2, 3], [UInt8](repeating: 7, count: 130)], "\(cut)")
            try phone.send(Wire.frame([9]) + Wire.closeFrame(1000))
            try relay.settle()
            #expect(client.takeFrames().map(\.payload) == [[9], [0x03, 0xE8]], "\(cut)")
            for end in [phone, client] { end.close() }
            try relay.settle()
        }
        #expect(relay.connections == 0 && relay.bufferedBytes == 0)
    }

    @Test("lose nothing over TLS when records are cut and arrive in transit")
    func secure() async throws {
        let files = try await CertificateFiles()
        try secure(try files.relayTransport(), try files.clientContext())
    }

    private func secure(_ transport: SocketSecurity, _ tls: NIOSSLContext) throws {
        let relay = try HandDrivenRelay(loops: 2, transport: transport)
        var random = SeededGenerator()
        let messages = NumberedMessages(tunnel: 1, isPhone: false)
        for round in 0..<Thoroughness.rounds(60, thorough: 1_000) {
            let (phone, routing) = try relay.phone(onLoop: round % 2, tls: tls)
            let client = try relay.connect(onLoop: 1 - round % 2, tls: tls)
            try relay.settle()
            // One record or several, of which any part arrives before the request is read, and any in transit.
            var wire: [UInt8] = []
            for piece in [WireEnd.request(routing: routing), messages.frames(0..<3), messages.frames(3..<6)] {
                let cut = random.number(0...piece.count)
                wire += try client.wire(Array(piece[..<cut])) + client.wire(Array(piece[cut...]))
            }
            let cuts = [random.number(0...wire.count), random.number(0...wire.count)].sorted()
            try client.socket.send(Array(wire[..<cuts[0]]))
            while relay.turn(1 - round % 2) {}
            try client.socket.send(Array(wire[cuts[0]..<cuts[1]]))
            if random.number(0...1) == 0 { relay.turn(round % 2) }
            try client.socket.send(Array(wire[cuts[1]...]))
            try relay.settle()
            #expect(client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true, "\(random)")
            #expect(phone.takeFrames().map(\.payload) == (0..<6).map(messages.message), "\(random)")
            try phone.send(Wire.frame([9]))
            try relay.settle()
            #expect(client.takeFrames().map(\.payload) == [[9]], "\(random)")
            for end in [phone, client] { end.close() }
            try relay.settle()
        }
        #expect(relay.connections == 0 && relay.bufferedBytes == 0)
    }

    /// The ways in which an end leaves.
    enum Leaving: CaseIterable {
        case close
        case halfClose
        case closeFrame
    }

    @Test(
        "end and are forgotten if either end leaves in transit",
        arguments: Leaving.allCases,
        [true, false]
    )
    func leavingInTransit(leaving: Leaving, phoneLeaves: Bool) throws {
        let relay = try HandDrivenRelay(loops: 2)
        let (phone, routing) = try relay.phone(onLoop: 0)
        let client = try relay.connect(onLoop: 1)
        try client.socket.send(WireEnd.request(routing: routing) + Self.first)
        while relay.turn(1) {}
        let (end, other) = phoneLeaves ? (phone, client) : (client, phone)
        switch leaving {
        case .close: end.close()
        case .halfClose: end.socket.shutDownOutput()
        case .closeFrame: try end.send(Wire.closeFrame(1000))
        }
        try relay.settle()
        let head = phoneLeaves ? other.takeHead() : nil
        let codes = other.takeFrames().compactMap(\.closeCode)
        switch (leaving, phoneLeaves) {
        // The client finds no tunnel, or joins it before it ends.
        case (_, true): #expect(head?.hasPrefix("HTTP/1.1 404 ") == true || codes == [1001] || codes == [1000])
        // The client leaves before it joins, or afterwards.
        case (.closeFrame, false): #expect(codes == [1000])
        case (_, false): #expect(codes == [1001] || codes.isEmpty && !other.hasEnded)
        }
        for end in [phone, client] { end.close() }
        try relay.settle()
        #expect(relay.connections == 0 && relay.bufferedBytes == 0)
        #expect(relay.loops.allSatisfy { $0.connectionCount == 0 })
    }

    @Test("count as connections, and have deadlines, in transit")
    func counted() throws {
        let relay = try HandDrivenRelay(loops: 2)
        let (phone, routing) = try relay.phone(onLoop: 0)
        let client = try relay.connect(onLoop: 1)
        try client.socket.send(WireEnd.request(routing: routing))
        while relay.turn(1) {}
        #expect(relay.connections == 2)
        try relay.advance(by: .minutes(11))
        #expect(client.takeHead()?.hasPrefix("HTTP/1.1 4") == true)
        #expect(phone.takeFrames().last?.closeCode == 1008)
        for end in [phone, client] { end.close() }
        try relay.settle()
        #expect(relay.connections == 0 && relay.bufferedBytes == 0)
    }

    @Test("carry everything in order, with and without TLS", arguments: [false, true])
    func overTCP(hasTLS: Bool) async throws {
        let files = try await CertificateFiles()
        let transport: SocketSecurity = hasTLS ? try files.relayTransport() : .plaintext
        let tls = hasTLS ? try files.clientContext() : nil
        try await RunningRelay.run(transport: transport, loops: 2) { relay in
            let (server, address) = (relay.server, relay.address)
            let seed = SeededGenerator().seed
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<4 {
                    group.addTask {
                        try await DedicatedThread.run { () throws(any Error) in
                            var random = SeededGenerator(seed: seed &+ UInt64(worker))
                            for round in 0..<Thoroughness.rounds(40, thorough: 2_000) {
                                let tunnel = ScriptedTunnel(number: worker << 20 | round, at: address, tls: tls)
                                try tunnel.run(&random)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            // With two loops, a connection is accepted by the wrong one about every second time.
            #expect(server.handOffs > 0, "TEST_SEED=\(seed)")
            try await Waiting.until("all connections to be closed") { server.connections == 0 }
        }
    }

    @Test("end with a shutdown while connections move")
    func shutdownInTransit() async throws {
        for _ in 0..<Thoroughness.rounds(10, thorough: 200) {
            try await RunningRelay.run(loops: 2) { relay in
                let (server, address) = (relay.server, relay.address)
                let moving = Task {
                    try await DedicatedThread.run { () throws(any Error) in
                        for _ in 0..<30 {
                            let phone = try WireEnd(try BlockingSocket.connected(to: address))
                            try phone.send(WireEnd.request())
                            let routing = try WireEnd.routing(in: try phone.readHead())
                            let client = try WireEnd(try BlockingSocket.connected(to: address))
                            try client.send(WireEnd.request(routing: routing))
                        }
                    }
                }
                try await Waiting.until("some connections") { server.acceptedConnections > 10 }
                await server.shutdown()
                #expect(server.connections == 0)
                // The relay has closed its connection, or no longer listens.
                _ = try? await moving.value
            }
        }
    }
}
