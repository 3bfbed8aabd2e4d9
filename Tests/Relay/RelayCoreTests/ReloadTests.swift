// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import IntegrationTestSupport
import NIOCore
import Testing

@Suite("Changes of a running relay", .timeLimit(.minutes(10)))
struct ReloadTests {
    private let other = String(repeating: "c", count: 32)

    @Test("new limits do not affect tunnels within them")
    func limits() async throws {
        try await RunningRelay.run { relay in
            let (phone, client) = try await relay.pair()
            let (waiting, _) = try await relay.phone(tunnel: other)
            relay.server.replace(limits: .testing { $0.waiting = .milliseconds(50) })
            #expect(try await waiting.readClose() == 1008, "the new time applies to waiting phones")
            relay.server.replace(limits: .testing { $0.tunnels = 1 })
            let (late, refusal) = try await relay.requestTunnel(tunnel: other)
            #expect(refusal.hasPrefix("HTTP/1.1 503 "))
            _ = await late.readToEnd()
            try await phone.send(Wire.frame([1]))
            #expect(try await client.readMessage() == [1])
        }
    }

    @Test("new tokens are required at once, but only from phones")
    func tokens() async throws {
        let (token, line) = try TunnelTokens.make(name: "someone")
        let (foreign, _) = try TunnelTokens.make(name: "someone")
        try await RunningRelay.run { relay in
            let (phone, routing) = try await relay.phone()
            relay.server.replace(tokens: try TunnelTokens(parsing: Array((line + "\n").utf8)))
            let (late, refusal) = try await relay.requestTunnel(tunnel: other)
            #expect(refusal.hasPrefix("HTTP/1.1 401 ") && refusal.contains("\r\nWWW-Authenticate: Bearer"))
            _ = await late.readToEnd()
            let wrong = ["Authorization: Bearer \(foreign)"]
            #expect(try await relay.requestTunnel(tunnel: other, adding: wrong).head.hasPrefix("HTTP/1.1 401 "))
            let right = ["Authorization: Bearer \(token)"]
            #expect(try await relay.requestTunnel(tunnel: other, adding: right).head.hasPrefix("HTTP/1.1 101 "))
            let (client, head) = try await relay.client(routing: routing)
            #expect(head.hasPrefix("HTTP/1.1 101 "), "clients are browsers and have no token")
            try await client.send(Wire.frame([2]))
            #expect(try await phone.readMessage() == [2])
            relay.server.replace(tokens: nil)
            #expect(try await relay.requestTunnel(tunnel: other).head.hasPrefix("HTTP/1.1 101 "))
        }
    }
}
