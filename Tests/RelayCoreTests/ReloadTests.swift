// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import NIOCore
import Testing

@Suite("A relay that is changed while it runs", .timeLimit(.minutes(10)))
struct ReloadTests {
    private let other = String(repeating: "c", count: 32)

    @Test("takes other limits without touching a tunnel that keeps them")
    func limits() async throws {
        try await RunningRelay.run { relay in
            let (phone, client) = try await relay.pair()
            let (waiting, _) = try await relay.phone(tunnel: other)
            relay.server.replace(limits: .testing { $0.waiting = .milliseconds(50) })
            #expect(try await waiting.readClose() == 1008, "the time counts for who waits already")
            relay.server.replace(limits: .testing { $0.tunnels = 1 })
            let (late, refusal) = try await relay.asking(tunnel: other)
            #expect(refusal.hasPrefix("HTTP/1.1 503 "))
            _ = await late.readToEnd()
            try await phone.send(Wire.frame([1]))
            #expect(try await client.readMessage() == [1])
        }
    }

    @Test("wants a token as soon as there are any, from phones alone")
    func tokens() async throws {
        let (token, line) = try NewTokens.make(name: "someone")
        let (foreign, _) = try NewTokens.make(name: "someone")
        try await RunningRelay.run { relay in
            let (phone, routing) = try await relay.phone()
            relay.server.replace(tokens: try NewTokens(parsing: Array((line + "\n").utf8)))
            let (late, refusal) = try await relay.asking(tunnel: other)
            #expect(refusal.hasPrefix("HTTP/1.1 401 ") && refusal.contains("\r\nWWW-Authenticate: Bearer"))
            _ = await late.readToEnd()
            let wrong = ["Authorization: Bearer \(foreign)"]
            #expect(try await relay.asking(tunnel: other, adding: wrong).head.hasPrefix("HTTP/1.1 401 "))
            let right = ["Authorization: Bearer \(token)"]
            #expect(try await relay.asking(tunnel: other, adding: right).head.hasPrefix("HTTP/1.1 101 "))
            let (client, head) = try await relay.client(routing: routing)
            #expect(head.hasPrefix("HTTP/1.1 101 "), "clients are browsers and can't be asked")
            try await client.send(Wire.frame([2]))
            #expect(try await phone.readMessage() == [2])
            relay.server.replace(tokens: nil)
            #expect(try await relay.asking(tunnel: other).head.hasPrefix("HTTP/1.1 101 "))
        }
    }
}
