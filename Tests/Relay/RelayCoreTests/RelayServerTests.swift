// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import IntegrationTestSupport
import NIOCore
import Testing

@Suite("A relay over TCP", .timeLimit(.minutes(10)))
struct RelayServerTests {
    private func bytes(_ count: Int, seed: Int) -> [UInt8] { Array(Self.pattern[seed..<(seed + count)]) }

    private static let pattern = (0..<(2 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ $0 >> 8) }

    @Test("relays a thousand messages in both directions, in order and with their boundaries")
    func thousandMessages() async throws {
        try await RunningRelay.run(limits: .testing { $0.tunnelBytes = 1 << 30 }) { relay in
            let (phone, client) = try await relay.pair()
            var random = SystemRandomNumberGenerator()
            for round in 0..<100 {
                let messages = (0..<5).map { index in
                    let size = index == 4 && round % 20 == 0 ? 1 << 20 : Int.random(in: 0...40_000, using: &random)
                    return bytes(size, seed: round + index)
                }
                let wire = messages.flatMap { Wire.frame($0) }
                for (from, to) in [(phone, client), (client, phone)] {
                    let cut = Int.random(in: 0...wire.count, using: &random)
                    try await from.send(Array(wire[..<cut]))
                    try await from.send(Array(wire[cut...]))
                    for message in messages {
                        let received = try await to.readMessage()
                        try #require(received == message)
                    }
                }
            }
        }
    }

    @Test("delivers frames that the phone sent before its client joined, even with the request")
    func earlyMessages() async throws {
        try await RunningRelay.run { relay in
            let (phone, routing) = try await relay.phone(glued: Wire.frame([1]) + Array(Wire.frame([2]).prefix(3)))
            try await phone.send(Array(Wire.frame([2]).dropFirst(3)))
            try await phone.send(Wire.frame([], opcode: Wire.ping))
            #expect(try await phone.readFrame().opcode == Wire.pong)
            let (client, head) = try await relay.client(routing: routing, glued: Wire.frame([3]))
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            #expect(try await client.readFrame() == .init(opcode: Wire.binary, final: true, payload: [1]))
            #expect(try await client.readFrame() == .init(opcode: Wire.binary, final: true, payload: [2]))
            #expect(try await phone.readFrame() == .init(opcode: Wire.binary, final: true, payload: [3]))
        }
    }

    @Test("delivers three megabytes that the phone sent before its client joined")
    func earlyFlood() async throws {
        try await RunningRelay.run { relay in
            let (phone, routing) = try await relay.phone()
            let message = bytes(50_000, seed: 3)
            let count = 60
            let flood = Task { [phone = UncheckedBox(phone)] in
                for _ in 0..<count { try await phone.value.send(Wire.frame(message)) }
            }
            let (client, _) = try await relay.client(routing: routing)
            for _ in 0..<count {
                let received = try await client.readMessage()
                try #require(received == message)
            }
            try await flood.value
        }
    }

    @Test("keeps the fragmentation of messages")
    func fragments() async throws {
        try await RunningRelay.run { relay in
            let (phone, client) = try await relay.pair()
            try await phone.send(Wire.frame([1], final: false))
            #expect(try await client.readFrame() == .init(opcode: Wire.binary, final: false, payload: [1]))
            try await phone.send(Wire.frame([2], opcode: 0, final: false) + Wire.frame([], opcode: 0))
            #expect(try await client.readFrame() == .init(opcode: 0, final: false, payload: [2]))
            #expect(try await client.readFrame() == .init(opcode: 0, final: true, payload: []))
        }
    }

    @Test("answers the latest ping and forwards neither pings nor pongs")
    func pings() async throws {
        try await RunningRelay.run { relay in
            let (phone, client) = try await relay.pair()
            try await phone.send(
                Wire.frame([1], opcode: Wire.pong) + Wire.frame([7], opcode: Wire.ping)
                    + Wire.frame([8], opcode: Wire.ping)
            )
            #expect(try await phone.readFrame() == .init(opcode: Wire.pong, final: true, payload: [8]))
            try await phone.send(Wire.frame([9]))
            #expect(try await client.readFrame().payload == [9])
        }
    }

    @Test(
        "forwards a close frame with its code, and answers it",
        arguments: [1000, 1001, 3000, 4999, nil] as [UInt16?]
    )
    func close(code: UInt16?) async throws {
        try await RunningRelay.run { relay in
            let (phone, client) = try await relay.pair()
            try await client.send(Wire.frame([5]) + Wire.closeFrame(code) + Wire.frame([6]))
            #expect(try await phone.readFrame().payload == [5])
            #expect(try await phone.readClose() == code)
            #expect(try await client.readClose() == code)
        }
    }

    static let violations: [(UInt16, [UInt8])] = [
        (1002, Wire.frame([1], mask: nil)),
        (1002, Wire.frame([1], reserved: 4)),
        (1002, Wire.frame([1], opcode: 0)),
        (1002, Wire.closeFrame(1006)),
        (1003, Wire.frame([65], opcode: 1)),
        (1009, Wire.frame([UInt8](repeating: 0, count: (1 << 20) + 1))),
        (
            1009,
            Wire.frame([UInt8](repeating: 0, count: 1 << 20), final: false) + Wire.frame([0], opcode: 0, final: false)
        ),
    ]

    // By index, since a test's arguments are printed and some of these are a megabyte long.
    @Test(
        "closes the violating end with a specific code, and the other end with 1001",
        arguments: violations.indices,
        [true, false]
    )
    func violation(number: Int, byPhone: Bool) async throws {
        let violation: (code: UInt16, wire: [UInt8]) = Self.violations[number]
        try await RunningRelay.run { relay in
            let (phone, client) = try await relay.pair()
            let (offender, other) = byPhone ? (phone, client) : (client, phone)
            try await offender.send(violation.wire)
            #expect(try await offender.readClose() == violation.code)
            var frame = try await other.readFrame()
            while frame.opcode != Wire.close { frame = try await other.readFrame() }
            #expect(frame.closeCode == 1001)
        }
    }

    @Test("closes the other end with 1001 when one disconnects without a close frame", arguments: [true, false])
    func vanished(phoneHangsUp: Bool) async throws {
        try await RunningRelay.run { relay in
            let (phone, client) = try await relay.pair()
            try await (phoneHangsUp ? phone : client).hangUp()
            #expect(try await (phoneHangsUp ? client : phone).readClose() == 1001)
        }
    }

    @Test("admits one client; a second, a wrong and a late one get 404")
    func secondConnect() async throws {
        try await RunningRelay.run { relay in
            let (_, routing) = try await relay.phone()
            let wrong = routing == "00ab00" ? "00ab01" : "00ab00"
            #expect(try await relay.client(routing: wrong).head.hasPrefix("HTTP/1.1 404 "))
            #expect(try await relay.client(routing: "000000").head.hasPrefix("HTTP/1.1 404 "))
            let other = String(UpgradeRequestTests.tunnel.reversed())
            #expect(try await relay.client(routing: routing, tunnel: other).head.hasPrefix("HTTP/1.1 404 "))
            let (first, head) = try await relay.client(routing: routing)
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            #expect(try await relay.client(routing: routing).head.hasPrefix("HTTP/1.1 404 "))
            try await first.send(Wire.closeFrame(1000))
            #expect(try await first.readClose() == 1000)
            #expect(try await relay.client(routing: routing).head.hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test("removes a phone that closed while it waited")
    func abandoned() async throws {
        try await RunningRelay.run { relay in
            let (phone, routing) = try await relay.phone()
            try await phone.send(Wire.frame([1]) + Wire.closeFrame(1000))
            #expect(try await phone.readClose() == 1001)
            #expect(try await relay.client(routing: routing).head.hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test("detects that a paused phone has disconnected")
    func pausedAndGone() async throws {
        try await RunningRelay.run(limits: .testing { $0.tunnels = 1 }) { relay in
            let (phone, _) = try await relay.phone()
            for _ in 0..<10 { try await phone.send(Wire.frame(bytes(20_000, seed: 0))) }
            try await phone.hangUp()
            var answer = ""
            while !answer.hasPrefix("HTTP/1.1 101 ") {
                let next = try await relay.connection()
                try await next.send(UpgradeRequestTests.head())
                answer = try await next.readHead()
            }
        }
    }

    @Test("accepts the same tunnel ID again, and closes the oldest of five with 1008")
    func sameTunnelAgain() async throws {
        try await RunningRelay.run { relay in
            var phones: [(end: RawClient, routing: String)] = []
            for _ in 0..<5 { phones.append(try await relay.phone()) }
            #expect(Set(phones.map(\.routing)).count == 5)
            #expect(try await phones[0].end.readClose() == 1008)
            let (client, _) = try await relay.client(routing: phones[4].routing)
            try await client.send(Wire.frame([1]))
            #expect(try await phones[4].end.readFrame().payload == [1])
        }
    }

    @Test("closes an unclaimed phone with 1008")
    func unclaimed() async throws {
        try await RunningRelay.run(limits: .testing { $0.waiting = .milliseconds(50) }) { relay in
            let (phone, routing) = try await relay.phone()
            #expect(try await phone.readClose() == 1008)
            #expect(try await relay.client(routing: routing).head.hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test("closes an idle pair with 1008 despite pings")
    func idle() async throws {
        try await RunningRelay.run(limits: .testing { $0.idle = .seconds(1) }) { relay in
            let (phone, client) = try await relay.pair()
            var frame = Wire.Received(opcode: Wire.pong, final: true, payload: [])
            while frame.opcode == Wire.pong {
                try? await phone.send(Wire.frame([], opcode: Wire.ping))
                frame = try await phone.readFrame()
            }
            #expect(frame.closeCode == 1008)
            #expect(try await client.readClose() == 1008)
        }
    }

    @Test("closes a busy pair with 1008 after its longest lifetime")
    func lifetime() async throws {
        // On a busy machine two seconds may pass before the client has joined. Then a longer lifetime is tried.
        for seconds in [2, 10, 60] {
            let wasPaired = try await RunningRelay.run(
                limits: .testing {
                    $0.lifetime = .seconds(Int64(seconds))
                    // So that no ping arrives between the messages.
                    $0.pingInterval = .minutes(5)
                }
            ) { relay in
                let (phone, routing) = try await relay.phone()
                let (client, head) = try await relay.client(routing: routing)
                guard head.hasPrefix("HTTP/1.1 101 ") || seconds == 60 else { return false }
                var frame = Wire.Received(opcode: Wire.binary, final: true, payload: [])
                while frame.opcode == Wire.binary {
                    try? await client.send(Wire.frame([1]))
                    frame = try await phone.readFrame()
                }
                #expect(frame.closeCode == 1008)
                return true
            }
            if wasPaired { break }
        }
    }

    @Test("closes a pair with 1008 after too many bytes in both directions together")
    func exhausted() async throws {
        try await RunningRelay.run(limits: .testing { $0.tunnelBytes = 5000 }) { relay in
            let (phone, client) = try await relay.pair()
            try await phone.send(Wire.frame(bytes(2500, seed: 0)))
            _ = try await client.readMessage()
            try await client.send(Wire.frame(bytes(2500, seed: 0)))
            _ = try await phone.readMessage()
            try await client.send(Wire.frame([1]))
            #expect(try await phone.readClose() == 1008)
            #expect(try await client.readClose() == 1008)
        }
    }

    @Test("refuses a tunnel beyond the limit with 503")
    func full() async throws {
        try await RunningRelay.run(limits: .testing { $0.tunnels = 1 }) { relay in
            _ = try await relay.phone()
            let second = try await relay.connection()
            try await second.send(UpgradeRequestTests.head())
            #expect(try await second.readHead().hasPrefix("HTTP/1.1 503 "))
        }
    }

    @Test("answers a refused request with one line and closes, even if more input is in flight")
    func refusal() async throws {
        try await RunningRelay.run { relay in
            let client = try await relay.connection()
            let body = [UInt8](repeating: 0x61, count: 200_000)
            try await client.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8) + body)
            let answer = String(decoding: await client.readToEnd(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
            #expect(answer.hasSuffix("\r\n\r\nnot found\n"))
        }
    }

    @Test("answers a head that is too large with 431")
    func largeHead() async throws {
        try await RunningRelay.run { relay in
            let client = try await relay.connection()
            let head = "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 9000)
            try await client.send(Array(head.utf8))
            #expect(try await client.readHead().hasPrefix("HTTP/1.1 431 "))
        }
    }

    @Test("answers a head that is too slow with 408 and hangs up")
    func slowHead() async throws {
        try await RunningRelay.run(limits: .testing { $0.headTime = .milliseconds(300) }) { relay in
            let client = try await relay.connection()
            try? await client.send(Array(UpgradeRequestTests.head().dropLast(2)))
            #expect(String(decoding: await client.readToEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test("accepts a head that arrives byte by byte")
    func byteByByte() async throws {
        // A busy machine may need more time for single bytes than the default limit.
        try await RunningRelay.run(limits: .testing { $0.headTime = .seconds(120) }) { relay in
            let phone = try await relay.connection()
            for byte in UpgradeRequestTests.head() { try await phone.send([byte]) }
            #expect(try await phone.readHead().hasPrefix("HTTP/1.1 101 "))
        }
    }

    @Test("closes every tunnel with 1001 at shutdown, and other connections at once")
    func shutdown() async throws {
        try await RunningRelay.run(on: "127.31.41.59") { relay in
            let (phone, client) = try await relay.pair()
            let (waiting, _) = try await relay.phone(tunnel: String(UpgradeRequestTests.tunnel.reversed()))
            let idle = try await relay.connection()
            try await idle.send(Array("GET".utf8))
            async let down: Void = relay.server.shutdown()
            #expect(try await phone.readClose() == 1001)
            #expect(try await client.readClose() == 1001)
            #expect(try await waiting.readClose() == 1001)
            _ = await idle.readToEnd()
            await down
            try await relay.untilUnreachable()
        }
    }
}

/// Passes a client to a second task.
///
/// SAFETY of @unchecked: one task only sends, the other only reads, and the two share no state.
struct UncheckedBox: @unchecked Sendable {
    let value: RawClient
    init(_ value: RawClient) { self.value = value }
}
