// SPDX-License-Identifier: Apache-2.0

import NIOCore
import OpenSSLTestSupport
import Testing

@testable import HybridRelayCore

@Suite("TLS early data of an attacker", .timeLimit(.minutes(10)))
struct EarlyDataAttackTests {
    /// A record that is not the end of the handshake.
    private static let forgedFinished = [0x17, 3, 3, 0, 40] + [UInt8](repeating: 7, count: 40)

    @Test("that is replayed later finds no tunnel, and harms none")
    func repeatedLater() async throws {
        try await HandDrivenRelay.run { relay, tls, ticket in
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
            try relay.expectEmpty(afterClosing: copies + [client.wire, phone])
        }
    }

    @Test("that an attacker sends in the client's place takes its tunnel for seconds", arguments: [false, true])
    func repeatedBefore(isForged: Bool) async throws {
        try await HandDrivenRelay.run { relay, tls, ticket in
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
            try relay.expectEmpty(afterClosing: [copy, client.wire, phone])
        }
    }

    @Test("that contacts a phone: a replay waits for the end of its handshake, and uses up no limit")
    func replayedContact() async throws {
        try await HandDrivenRelay.run { relay, tls, ticket in
            let phone = LinkedPhone()
            let listener = try relay.listener(phone, tls: tls)
            let client = try ResumingEnd(try relay.connect(), resuming: ticket)
            let flight = try client.tls.early(phone.contactRequest())
            try client.wire.socket.send(flight)
            try relay.settle()
            _ = try listener.takeWakeUp()
            let copies = try (0..<5).map { _ in try relay.connect() }
            for copy in copies { try copy.socket.send(flight) }
            try client.finish()
            try relay.settle()
            try relay.advance(by: .seconds(6))
            try relay.advance(by: .seconds(1))
            #expect(copies.allSatisfy(\.hasEnded) && !client.wire.hasEnded)
            #expect(try listener.takeListenMessage() == nil)
            let next = try relay.resuming(ticket, early: phone.contactRequest(payload: "A1b3"))
            #expect(try next.takeHead()?.hasPrefix("HTTP/1.1 101 ") == true)
            try relay.expectEmpty(afterClosing: copies + [listener, client.wire, next.wire])
        }
    }

    @Test("that contacts a phone: after a replay, the original is processed at the end of its handshake")
    func replayedContactBefore() async throws {
        try await HandDrivenRelay.run { relay, tls, ticket in
            let phone = LinkedPhone()
            let listener = try relay.listener(phone, tls: tls)
            let client = try ResumingEnd(try relay.connect(), resuming: ticket)
            let flight = try client.tls.early(phone.contactRequest())
            let copy = try relay.connect()
            for end in [copy, client.wire] {
                try end.socket.send(flight)
                try relay.settle()
            }
            let other = try listener.takeWakeUp()
            #expect(try listener.takeListenMessage() == nil)
            try client.finish()
            try relay.settle()
            let own = try listener.takeWakeUp()
            #expect(own.payload == other.payload && own.tunnel != other.tunnel)
            try relay.advance(by: .seconds(6))
            #expect(copy.hasEnded && !client.wire.hasEnded)
            #expect(relay.context.registry.counts.open == 1)
            let (joined, head) = try relay.client(own.routing, tls: tls, tunnel: own.tunnel, glued: Wire.frame([1]))
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            #expect(try client.takeHead() != nil && client.takeFrames().map(\.payload) == [[1]])
            try relay.expectEmpty(afterClosing: [listener, copy, joined, client.wire])
        }
    }

    @Test("of more than the limit closes the connection", arguments: [true, false])
    func tooLong(joins: Bool) async throws {
        try await HandDrivenRelay.run { relay, tls, ticket in
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
                // The ClientHello of a client that has joined, and what waits of another one.
                #expect(relay.bufferedBytes < (joins ? 4_000 : 40_000))
            }
            #expect(end.wire.hasEnded)
            #expect(phone.takeFrames().last?.closeCode == (joins ? 1001 : nil))
            try relay.expectEmpty(afterClosing: [phone, end.wire])
        }
    }

    @Test("after a refusal is read up to a limit, which counts padding")
    func padded() async throws {
        try await HandDrivenRelay.run { relay, _, ticket in
            let end = try relay.resuming(ticket, early: WireEnd.request(routing: "ffffff"), padded: true)
            var sent = 0
            while !end.wire.hasEnded, sent < 1 << 20 {
                let record = try end.tls.early([1])
                #expect(record.count > 1 << 14)
                // The relay may have closed the connection.
                _ = try? end.wire.socket.send(record)
                sent += record.count
                try relay.settle()
                #expect(relay.bufferedBytes < 40_000)
            }
            #expect(sent > 200_000 && sent < 300_000)
            try relay.expectEmpty(afterClosing: [end.wire])
        }
    }

    @Test("and silence afterwards ends within the time of a request, and counts as buffered bytes")
    func silence() async throws {
        try await HandDrivenRelay.run { relay, _, ticket in
            let request = WireEnd.request()
            for cut in [20, request.count] {
                let end = try relay.resuming(ticket, early: Array(request[..<cut]))
                #expect(relay.bufferedBytes >= cut && relay.connections == 1)
                try relay.advance(by: .seconds(4))
                #expect(try end.takeHead() == nil && !end.wire.hasEnded)
                try relay.advance(by: .seconds(2))
                #expect(try end.takeHead()?.hasPrefix("HTTP/1.1 408 ") == true)
                try relay.advance(by: .seconds(1))
                #expect(end.wire.hasEnded)
                try relay.expectEmpty(afterClosing: [end.wire])
            }
        }
    }

    @Test("is displaced by new connections before it has a tunnel")
    func displaced() async throws {
        try await HandDrivenRelay.run(connections: 3) { relay, tls, ticket in
            let waiting = try relay.resuming(ticket, early: WireEnd.request())
            let (phone, routing) = try relay.phone(tls: tls)
            let joined = try relay.resuming(ticket, early: WireEnd.request(routing: routing))
            let new = try relay.connect()
            try relay.settle()
            #expect(waiting.wire.hasEnded && !joined.wire.hasEnded)
            let more = try relay.connect()
            try relay.settle()
            #expect(new.hasEnded && !joined.wire.hasEnded)
            try relay.expectEmpty(afterClosing: [phone, new, more, waiting.wire, joined.wire])
        }
    }
}
