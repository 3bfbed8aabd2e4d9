// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import OpenSSLTestSupport
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("TLS early data", .timeLimit(.minutes(10)))
struct EarlyDataTests {
    @Test("joins a tunnel, and gets the response and messages before the end of the handshake")
    func connect() async throws {
        try await HandDrivenRelay.run { relay, tls, ticket in
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
            try relay.expectEmpty(afterClosing: [phone, client.wire])
        }
    }

    @Test("contacts a phone, which is woken, and gets the response before the end of the handshake")
    func contact() async throws {
        try await HandDrivenRelay.run(loops: 2) { relay, tls, ticket in
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
            try relay.expectEmpty(afterClosing: [listener, client.wire, joining.wire])
        }
    }

    @Test("waits with any other request until the handshake is complete", arguments: [false, true])
    func others(isSplit: Bool) async throws {
        try await HandDrivenRelay.run { relay, _, ticket in
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
                try relay.expectEmpty(afterClosing: [end.wire])
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
        try relay.expectEmpty(afterClosing: [phone, client.wire])
    }

    @Test("keeps a request for an absent phone beyond the time of a handshake, which ends afterwards")
    func heldContact() async throws {
        try await HandDrivenRelay.run { relay, tls, ticket in
            let phone = LinkedPhone()
            let ends = try (0..<2).map { try relay.resuming(ticket, early: phone.contactRequest(payload: "A1b\($0)")) }
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
            try relay.expectEmpty(afterClosing: [listener] + ends.map(\.wire))
        }
    }

    @Test("of an end that may send nothing more before the other one joins does not keep the handshake from ending")
    func paused() async throws {
        try await HandDrivenRelay.run(earlyBytes: 4_000) { relay, tls, ticket in
            let phone = LinkedPhone()
            let listener = try relay.listener(phone, tls: tls)
            let frames = (1...2).flatMap { Wire.frame([UInt8](repeating: $0, count: 3_000)) }
            let client = try relay.resuming(ticket, early: phone.contactRequest() + frames)
            try client.finish()
            try relay.settle()
            try relay.advance(by: .seconds(6))
            #expect(!client.wire.hasEnded)
            try relay.expectEmpty(afterClosing: [listener, client.wire])
        }
    }

    @Test("is refused before the end of the handshake, and closed in order after it")
    func refused() async throws {
        try await HandDrivenRelay.run { relay, _, ticket in
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
                try relay.expectEmpty(afterClosing: [end.wire])
            }
        }
    }

    @Test("is closed in order after a refusal, even if the end of the handshake came with the request")
    func refusedLater() async throws {
        try await HandDrivenRelay.run { relay, _, ticket in
            let request = LinkedPhone().contactRequest()
            let end = try relay.resuming(ticket, early: Array(request.dropLast(9)))
            let rest = try end.tls.early(Array(request.suffix(9)))
            try end.take()
            try end.wire.socket.send(rest + end.tls.takeOutput())
            try relay.settle()
            try relay.advance(by: .seconds(9))
            try relay.advance(by: .seconds(1))
            #expect(try end.takeHead()?.hasPrefix("HTTP/1.1 404 ") == true)
            #expect(end.tls.hasReceivedCloseNotify && end.wire.hasEnded)
            try relay.expectEmpty(afterClosing: [end.wire])
        }
    }

    @Test("may be cut anywhere, and moves with its connection to another loop")
    func cuts() async throws {
        try await HandDrivenRelay.run(loops: 2) { relay, tls, ticket in
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
            try relay.expectEmpty(afterClosing: [])
        }
    }

    @Test("whose handshake ends while the connection moves")
    func movesAtTheEnd() async throws {
        try await HandDrivenRelay.run(loops: 2) { relay, tls, ticket in
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
                try relay.expectEmpty(afterClosing: [phone, client.wire])
            }
        }
    }

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
