// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import NIOCore
import TestSupport
import Testing

@Suite("A relay that shuts down", .timeLimit(.minutes(10)))
struct DrainTests {
    private let other = String(repeating: "b", count: 32)

    @Test("joins waiting phones, finishes tunnels, refuses new ones, and stops after the last")
    func drains() async throws {
        try await RunningRelay.run(on: "127.31.41.58") { relay in
            let (phone, routing) = try await relay.phone()
            #expect(relay.server.health == .ready)
            async let drained: Void = relay.server.drain(grace: .minutes(2))
            try await Waiting.until("the drain") { relay.server.health != .ready }
            #expect(relay.server.health == .draining)
            let (late, refusal) = try await relay.requestTunnel(tunnel: other)
            #expect(refusal.hasPrefix("HTTP/1.1 503 ") && refusal.contains("\r\nRetry-After: "))
            _ = await late.readToEnd()
            let (client, head) = try await relay.client(routing: routing)
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            try await phone.send(Wire.frame([1]))
            #expect(try await client.readMessage() == [1])
            #expect(relay.server.health == .draining)
            try await client.send(Wire.closeFrame(1000))
            #expect(try await phone.readClose() == 1000)
            #expect(try await client.readClose() == 1000)
            for end in [phone, client] { try? await end.hangUp() }
            await drained
            #expect(relay.server.health == .stopped)
            try await relay.untilUnreachable()
        }
    }

    @Test("closes remaining tunnels with 1001 after the grace period")
    func grace() async throws {
        try await RunningRelay.run { relay in
            let (phone, client) = try await relay.pair()
            let (waiting, _) = try await relay.phone(tunnel: other)
            async let drained: Void = relay.server.drain(grace: .milliseconds(200))
            for end in [phone, client, waiting] { #expect(try await end.readClose() == 1001) }
            for end in [phone, client, waiting] { try? await end.hangUp() }
            await drained
        }
    }

    @Test("stops at once if there are no tunnels")
    func idle() async throws {
        try await RunningRelay.run { relay in
            await relay.server.drain(grace: .hours(1))
            #expect(relay.server.health == .stopped)
        }
    }

    @Test("refuses requests, also without tunnels, while load balancers may not have seen that it drains")
    func notice() async throws {
        try await RunningRelay.run { relay in
            let draining = Task { await relay.server.drain(grace: .hours(1), notice: .hours(1)) }
            try await Waiting.until("the drain") { relay.server.health == .draining }
            for _ in 1...2 {
                let (late, refusal) = try await relay.requestTunnel(tunnel: other)
                #expect(refusal.hasPrefix("HTTP/1.1 503 "))
                _ = await late.readToEnd()
            }
            draining.cancel()
            await draining.value
        }
        try await RunningRelay.run { relay in
            let start = NIODeadline.now()
            await relay.server.drain(grace: .hours(1), notice: .milliseconds(200))
            #expect(NIODeadline.now() - start >= .milliseconds(200))
        }
    }

    @Test("stops waiting when its task is cancelled")
    func cancelled() async throws {
        try await RunningRelay.run { relay in
            let (phone, _) = try await relay.phone()
            let draining = Task { await relay.server.drain(grace: .hours(1)) }
            try await Waiting.until("the drain") { relay.server.health != .ready }
            draining.cancel()
            #expect(try await phone.readClose() == 1001)
            try? await phone.hangUp()
            await draining.value
        }
    }
}
