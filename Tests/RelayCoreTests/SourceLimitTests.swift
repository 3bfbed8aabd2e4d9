// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import NIOCore
import Testing

@Suite("How much one source and all together may have", .timeLimit(.minutes(10)))
struct SourceLimitTests {
    private func tunnel(_ number: Int) -> String { String(repeating: String(number, radix: 16), count: 32) }

    /// A relay as one source sees it; connections from the machine itself are not counted.
    private func run(
        _ limits: RelayLimits,
        countsSources: Bool = true,
        _ body: (RunningRelay) async throws -> Void
    ) async throws {
        let balancer = try AddressBlock(parsing: "127.0.0.1")
        try await RunningRelay.run(limits: limits) {
            ($0.balancers, $0.countsSources) = ([balancer], countsSources)
        } _: {
            try await body($0.seen(from: "198.51.100.7"))
        }
    }

    @Test("a source with as many connections as it may have is hung up on, and let in again when one is closed")
    func connections() async throws {
        try await run(.testing { $0.connectionsPerSource = 2 }) { relay in
            let (first, _) = try await relay.phone(tunnel: tunnel(1))
            let (second, _) = try await relay.phone(tunnel: tunnel(2))
            #expect(await (try relay.connection()).readToEnd() == [])
            try await first.hangUp()
            // The relay notices in its own time.
            try await untilAccepted { try await relay.asking(tunnel: tunnel(3)).head }
            _ = second
        }
    }

    @Test("the relay's own limit counts for everybody")
    func all() async throws {
        try await RunningRelay.run(limits: .testing { $0.connections = 1 }) { relay in
            let (first, _) = try await relay.phone(tunnel: tunnel(1))
            #expect(await (try relay.connection()).readToEnd() == [])
            try await first.hangUp()
            try await untilAccepted { try await relay.asking(tunnel: tunnel(2)).head }
        }
    }

    @Test("a source that opens tunnels too fast is told to wait; its clients still reach their phones")
    func rate() async throws {
        // One a minute, and one before: with more, a slow machine would give the source time to earn another.
        try await run(.testing { $0.newPerMinuteAndSource = 1 }) { relay in
            let (phone, routing) = try await relay.phone(tunnel: tunnel(1))
            let (late, refusal) = try await relay.asking(tunnel: tunnel(2))
            #expect(refusal.hasPrefix("HTTP/1.1 429 ") && refusal.contains("\r\nRetry-After: "))
            _ = await late.readToEnd()
            let (client, head) = try await relay.client(routing: routing, tunnel: tunnel(1))
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            try await client.send(Wire.frame([1]))
            #expect(try await phone.readMessage() == [1])
        }
    }

    @Test("nobody is counted where all come from one balancer that does not tell sources apart")
    func notCounted() async throws {
        let limits = RelayLimits.testing { ($0.connectionsPerSource, $0.newPerMinuteAndSource) = (1, 1) }
        try await run(limits, countsSources: false) { relay in
            for number in 1...4 { _ = try await relay.phone(tunnel: tunnel(number)) }
        }
    }

    @Test("nobody is counted who comes from the machine itself")
    func loopback() async throws {
        let limits = RelayLimits.testing { ($0.connectionsPerSource, $0.newPerMinuteAndSource) = (1, 1) }
        try await RunningRelay.run(limits: limits) { relay in
            for number in 1...4 { _ = try await relay.phone(tunnel: tunnel(number)) }
        }
    }

    private func untilAccepted(_ ask: () async throws -> String) async throws {
        var head = ""
        while !head.hasPrefix("HTTP/1.1 101 ") { head = (try? await ask()) ?? "" }
    }
}
