// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import OpenSSLTestSupport
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("TLS early data", .timeLimit(.minutes(10)))
struct EarlyDataTests {
    /// Runs `body` with a relay over TLS, on one thread, and a ticket.
    private static func run(
        loops: Int = 1,
        connections: Int = 100,
        _ body: (HandDrivenRelay, NIOSSLContext, OpenSSLClient.Ticket) throws -> Void
    ) async throws {
        let files = try await CertificateFiles()
        let relay = try HandDrivenRelay(loops: loops, transport: try files.relayTransport()) {
            $0.headTime = .seconds(5)
            $0.connections = connections
        }
        try body(relay, try files.clientContext(), try relay.ticket())
    }

    private static func expectEmpty(_ relay: HandDrivenRelay, afterClosing ends: [WireEnd]) throws {
        for end in ends { end.close() }
        try relay.settle()
        #expect(relay.connections == 0 && relay.heldBytes == 0)
        #expect(relay.context.registry.counts.open == 0)
    }

    @Test("joins a tunnel, and gets the response and messages before the end of the handshake")
    func connect() async throws {
        try await Self.run { relay, tls, ticket in
            #expect(ticket.maximumEarlyData == 14_336)
            let (phone, routing) = try relay.phone(tls: tls, glued: Wire.frame([1]))
            let client = try relay.resuming(ticket, early: WireEnd.request(routing: routing) + Wire.frame([2]))
            #expect(try client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
            #expect(client.tls.earlyData == .accepted)
            #expect(try client.takeFrames().map(\.payload) == [[1]])
            #expect(phone.takeFrames().map(\.payload) == [[2]])
            try phone.send(Wire.frame([3]))
            try relay.settle()
            #expect(try client.takeFrames().map(\.payload) == [[3]])
            try client.finish(Wire.frame([4]))
            try relay.settle()
            #expect(phone.takeFrames().map(\.payload) == [[4]])
            #expect(client.tls.tickets == 2)
            // The limits of the handshake no longer apply.
            for _ in 0..<4 {
                try relay.advance(by: .seconds(5))
                try client.send(Wire.frame([], opcode: Wire.pong))
                try phone.send(Wire.frame([], opcode: Wire.pong))
                try relay.settle()
            }
            try client.send(Wire.closeFrame(1000))
            try relay.settle()
            #expect(phone.takeFrames().last?.closeCode == 1000)
            #expect(try client.takeFrames().last?.closeCode == 1000)
            #expect(client.tls.hasReceivedCloseNotify && client.wire.hasEnded)
            try Self.expectEmpty(relay, afterClosing: [phone, client.wire])
        }
    }

    @Test("contacts a phone, which is woken, and gets the response before the end of the handshake")
    func contact() async throws {
        try await Self.run(loops: 2) { relay, tls, ticket in
            let phone = LinkedPhone()
            let listener = try relay.listener(phone, onLoop: 1, tls: tls)
            let client = try relay.resuming(ticket, early: phone.contactRequest(signals: "true"))
            #expect(try client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
            let wakeUp = try listener.takeWakeUp()
            let joining = try relay.resuming(
                ticket,
                onLoop: 1,
                early: WireEnd.request(routing: wakeUp.routing, tunnel: wakeUp.tunnel) + Wire.frame([7])
            )
            #expect(try joining.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
            #expect(try client.takeFrames().map(\.payload) == [[0], [7]])
            for end in [client, joining] { try end.finish(Wire.frame([8])) }
            try relay.settle()
            for end in [client, joining] { #expect(try end.takeFrames().map(\.payload) == [[8]]) }
            try Self.expectEmpty(relay, afterClosing: [listener, client.wire, joining.wire])
        }
    }

    @Test("waits with any other request until the handshake is complete", arguments: [false, true])
    func others(isSplit: Bool) async throws {
        try await Self.run { relay, _, ticket in
            let phone = LinkedPhone()
            let path = "/cable/connect/00ab00/\(UpgradeRequestTests.tunnel)"
            let requests = [
                (WireEnd.request(), "101"), (phone.listenRequest(), "101"),
                (Array("GET / HTTP/1.1\r\n\r\n".utf8), "400"),
                (UpgradeRequestTests.head(["GET": "POST \(path) HTTP/1.1"]), "405"),
            ]
            for (request, status) in requests {
                let bytes = request + Wire.frame([1], opcode: Wire.ping)
                // The rest follows the handshake in the same read.
                let cut = isSplit ? bytes.count - 9 : bytes.count
                let end = try relay.resuming(ticket, early: Array(bytes[..<cut]))
                #expect(try end.takeHead() == nil && end.tls.earlyData == .accepted)
                #expect(relay.context.registry.counts.open == 0)
                try end.finish(Array(bytes[cut...]))
                try relay.settle()
                #expect(try end.takeHead()?.hasPrefix("HTTP/1.1 \(status) ") == true)
                if status == "101" {
                    #expect(try end.takeFrames().last?.opcode == Wire.pong)
                } else {
                    _ = try end.take()
                    #expect(end.tls.hasReceivedCloseNotify && end.wire.hasEnded)
                }
                try Self.expectEmpty(relay, afterClosing: [end.wire])
            }
        }
    }

    @Test("is rejected by a relay with other ticket keys, and the request after the handshake is processed")
    func otherKeys() async throws {
        let files = try await CertificateFiles()
        let tls = try files.clientContext()
        let ticket = try HandDrivenRelay(transport: try files.relayTransport()).ticket()
        let relay = try HandDrivenRelay(transport: try files.relayTransport())
        let (phone, routing) = try relay.phone(tls: tls)
        let request = WireEnd.request(routing: routing)
        let client = try relay.resuming(ticket, early: request)
        #expect(try client.takeHead() == nil)
        #expect(client.tls.earlyData == .rejected)
        try client.finish(request + Wire.frame([1]))
        try relay.settle()
        #expect(try client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
        #expect(phone.takeFrames().map(\.payload) == [[1]])
        try Self.expectEmpty(relay, afterClosing: [phone, client.wire])
    }

    @Test("that an attacker repeats finds no tunnel, and harms none")
    func repeatedLater() async throws {
        try await Self.run { relay, tls, ticket in
            let (phone, routing) = try relay.phone(tls: tls)
            let client = try ResumingEnd(try relay.connect(), resuming: ticket)
            let flight = try client.tls.early(WireEnd.request(routing: routing) + Wire.frame([1]))
            try client.wire.socket.send(flight)
            try relay.settle()
            let copies = try (0..<2).map { _ in try relay.connect() }
            for copy in copies { try copy.socket.send(flight) }
            try relay.settle()
            // The relay's answer to the second one is a refusal that only the client could read.
            for copy in copies {
                let answer = copy.takeReceived()
                #expect(!answer.isEmpty)
                #expect(throws: OpenSSLClient.Failed.self) { try OpenSSLClient(resuming: ticket).receive(answer) }
            }
            try copies[1].socket.send(Self.forgedFinished)
            try relay.settle()
            #expect(copies[1].hasEnded && !copies[0].hasEnded)
            #expect(try client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
            try client.finish(Wire.frame([2]))
            try relay.settle()
            try relay.advance(by: .seconds(6))
            #expect(copies[0].hasEnded)
            try client.send(Wire.frame([3]))
            try relay.settle()
            #expect(phone.takeFrames().map(\.payload) == [[1], [2], [3]])
            try Self.expectEmpty(relay, afterClosing: copies + [client.wire, phone])
        }
    }

    @Test("that an attacker sends in the client's place takes its tunnel for seconds", arguments: [false, true])
    func repeatedBefore(isForged: Bool) async throws {
        try await Self.run { relay, tls, ticket in
            let (phone, routing) = try relay.phone(tls: tls, glued: Wire.frame([1]))
            let client = try ResumingEnd(try relay.connect(), resuming: ticket)
            let flight = try client.tls.early(WireEnd.request(routing: routing) + Wire.frame([2]))
            let copy = try relay.connect()
            try copy.socket.send(flight)
            try relay.settle()
            #expect(phone.takeFrames().map(\.payload) == [[2]])
            try client.wire.socket.send(flight)
            try relay.settle()
            #expect(try client.takeHead()?.hasPrefix("HTTP/1.1 404 ") == true)
            if isForged {
                try copy.socket.send(Self.forgedFinished)
                try relay.settle()
            } else {
                try relay.advance(by: .seconds(4))
                try phone.send(Wire.frame([3]))
                try relay.settle()
                #expect(!copy.hasEnded && !phone.hasEnded)
                try relay.advance(by: .seconds(2))
            }
            #expect(copy.hasEnded)
            #expect(phone.takeFrames().last?.closeCode == 1001)
            try Self.expectEmpty(relay, afterClosing: [copy, client.wire, phone])
        }
    }

    @Test("that contacts a phone, repeated, is one wake-up, whose tunnel ends within seconds")
    func repeatedContact() async throws {
        try await Self.run { relay, tls, ticket in
            let phone = LinkedPhone()
            let listener = try relay.listener(phone, tls: tls)
            let client = try ResumingEnd(try relay.connect(), resuming: ticket)
            let flight = try client.tls.early(phone.contactRequest())
            let copy = try relay.connect()
            for end in [client.wire, copy] { try end.socket.send(flight) }
            try relay.settle()
            let (own, other) = (try listener.takeWakeUp(), try listener.takeWakeUp())
            #expect(own.payload == other.payload && own.tunnel != other.tunnel)
            try client.finish()
            try relay.settle()
            try relay.advance(by: .seconds(6))
            #expect(copy.hasEnded && !client.wire.hasEnded)
            #expect(relay.context.registry.counts.open == 1)
            let (joined, head) = try relay.client(own.routing, tls: tls, tunnel: own.tunnel, glued: Wire.frame([1]))
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            #expect(try client.takeHead() != nil && client.takeFrames().map(\.payload) == [[1]])
            try Self.expectEmpty(relay, afterClosing: [listener, copy, joined, client.wire])
        }
    }

    @Test("keeps a request for an absent phone beyond the time of a handshake, which ends afterwards")
    func heldContact() async throws {
        try await Self.run { relay, tls, ticket in
            let phone = LinkedPhone()
            let ends = try (0..<2).map { _ in try relay.resuming(ticket, early: phone.contactRequest()) }
            for end in ends { #expect(try end.takeHead() == nil) }
            try ends[0].finish(Wire.frame([1]))
            try relay.settle()
            try relay.advance(by: .seconds(7))
            let listener = try relay.listener(phone, tls: tls)
            for end in ends { #expect(try end.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true) }
            #expect(listener.takeFrames().count == 2)
            try relay.advance(by: .seconds(4))
            #expect(!ends[1].wire.hasEnded)
            try relay.advance(by: .seconds(2))
            #expect(ends[1].wire.hasEnded && !ends[0].wire.hasEnded)
            try Self.expectEmpty(relay, afterClosing: [listener] + ends.map(\.wire))
        }
    }

    @Test("is refused before the end of the handshake, and closed in order after it")
    func refused() async throws {
        try await Self.run { relay, _, ticket in
            let phone = LinkedPhone()
            for (request, time) in [(WireEnd.request(routing: "ffffff"), 0), (phone.contactRequest(), 9)] {
                let end = try relay.resuming(ticket, early: request + Wire.frame([1]))
                try relay.advance(by: .seconds(Int64(time)))
                #expect(try end.takeHead()?.hasPrefix("HTTP/1.1 404 ") == true)
                #expect(!end.tls.hasReceivedCloseNotify && !end.wire.hasEnded)
                try end.finish()
                try relay.settle()
                try end.take()
                #expect(end.tls.hasReceivedCloseNotify && end.wire.hasEnded && !end.wire.wasReset)
                try Self.expectEmpty(relay, afterClosing: [end.wire])
            }
        }
    }

    @Test("of more than the limit closes the connection", arguments: [true, false])
    func tooLong(joins: Bool) async throws {
        try await Self.run { relay, tls, ticket in
            ticket.removeLimit()
            let (phone, routing) = try relay.phone(tls: tls)
            let request = joins ? WireEnd.request(routing: routing) : WireEnd.request()
            let end = try ResumingEnd(try relay.connect(), resuming: ticket)
            try end.wire.socket.send(try end.tls.early(request))
            let frames = (0..<10).map { _ in Wire.frame([UInt8](repeating: 1, count: 1900)) }
            for frame in frames {
                let records = try end.tls.early(frame)
                // The relay may have closed the connection.
                _ = try? end.wire.socket.send(records)
                try relay.settle()
                #expect(relay.heldBytes < 40_000)
            }
            #expect(end.wire.hasEnded)
            #expect(phone.takeFrames().last?.closeCode == (joins ? 1001 : nil))
            try Self.expectEmpty(relay, afterClosing: [phone, end.wire])
        }
    }

    @Test("and silence afterwards ends within the time of a request, and counts as held bytes")
    func silence() async throws {
        try await Self.run { relay, _, ticket in
            let request = WireEnd.request()
            for cut in [20, request.count] {
                let end = try relay.resuming(ticket, early: Array(request[..<cut]))
                #expect(relay.heldBytes >= cut && relay.connections == 1)
                try relay.advance(by: .seconds(4))
                #expect(try end.takeHead() == nil && !end.wire.hasEnded)
                try relay.advance(by: .seconds(2))
                #expect(try end.takeHead()?.hasPrefix("HTTP/1.1 408 ") == true)
                try relay.advance(by: .seconds(1))
                #expect(end.wire.hasEnded)
                try Self.expectEmpty(relay, afterClosing: [end.wire])
            }
        }
    }

    @Test("is displaced by new connections before it has a tunnel")
    func displaced() async throws {
        try await Self.run(connections: 3) { relay, tls, ticket in
            let waiting = try relay.resuming(ticket, early: WireEnd.request())
            let (phone, routing) = try relay.phone(tls: tls)
            let joined = try relay.resuming(ticket, early: WireEnd.request(routing: routing))
            let new = try relay.connect()
            try relay.settle()
            #expect(waiting.wire.hasEnded && !joined.wire.hasEnded)
            let more = try relay.connect()
            try relay.settle()
            #expect(new.hasEnded && !joined.wire.hasEnded)
            try Self.expectEmpty(relay, afterClosing: [phone, new, more, waiting.wire, joined.wire])
        }
    }

    @Test("may be cut anywhere, and moves with its connection to another loop")
    func cuts() async throws {
        try await Self.run(loops: 2) { relay, tls, ticket in
            var random = SeededGenerator()
            let messages = NumberedMessages(tunnel: 1, isPhone: false)
            for round in 0..<Thoroughness.rounds(60, thorough: 1_000) {
                let (phone, routing) = try relay.phone(onLoop: 0, tls: tls)
                let client = try ResumingEnd(try relay.connect(onLoop: round % 2), resuming: ticket)
                var flight: [UInt8] = []
                for piece in [WireEnd.request(routing: routing), messages.frames(0..<2), messages.frames(2..<4)] {
                    let cut = random.number(0...piece.count)
                    for part in [piece[..<cut], piece[cut...]] where !part.isEmpty {
                        flight += try client.tls.early(Array(part))
                    }
                }
                try Self.send(flight, by: client.wire, relay, &random)
                try relay.settle()
                #expect(try client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true, "\(random)")
                var last = client.tls.takeOutput()
                last += try client.tls.encrypt(messages.frames(4..<6))
                try Self.send(last, by: client.wire, relay, &random)
                try relay.settle()
                #expect(phone.takeFrames().map(\.payload) == (0..<6).map(messages.message), "\(random)")
                try phone.send(Wire.frame([9]))
                try relay.settle()
                #expect(try client.takeFrames().map(\.payload) == [[9]], "\(random)")
                for end in [phone, client.wire] { end.close() }
                try relay.settle()
            }
            try Self.expectEmpty(relay, afterClosing: [])
        }
    }

    @Test("whose handshake ends while the connection moves")
    func movesAtTheEnd() async throws {
        try await Self.run(loops: 2) { relay, tls, ticket in
            for isRead in [false, true] {
                let (phone, routing) = try relay.phone(onLoop: 0, tls: tls)
                // The first part of the request is read, so that the client has its last flight when the move begins.
                let request = WireEnd.request(routing: routing)
                let client = try relay.resuming(ticket, onLoop: 1, early: Array(request.dropLast(9)))
                let rest = try client.tls.early(Array(request.suffix(9)))
                try client.take()
                if isRead {
                    try client.wire.socket.send(rest)
                    while relay.turn(1) {}
                    try client.finish(Wire.frame([1]))
                } else {
                    // Read at once, and kept in the move.
                    let last = client.tls.takeOutput()
                    try client.wire.socket.send(rest + last + (try client.tls.encrypt(Wire.frame([1]))))
                }
                try relay.settle()
                #expect(try client.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
                #expect(phone.takeFrames().map(\.payload) == [[1]])
                try Self.expectEmpty(relay, afterClosing: [phone, client.wire])
            }
        }
    }

    /// A record that is not the end of the handshake.
    private static let forgedFinished = [0x17, 3, 3, 0, 40] + [UInt8](repeating: 7, count: 40)

    /// Sends bytes in three pieces, between which some loops run.
    private static func send(
        _ bytes: [UInt8],
        by end: WireEnd,
        _ relay: HandDrivenRelay,
        _ random: inout SeededGenerator
    ) throws {
        let cuts = [random.number(0...bytes.count), random.number(0...bytes.count)].sorted()
        for range in [0..<cuts[0], cuts[0]..<cuts[1], cuts[1]..<bytes.count] {
            try end.socket.send(Array(bytes[range]))
            for loop in relay.loops.indices where random.number(0...1) == 0 { relay.turn(loop) }
        }
    }
}
