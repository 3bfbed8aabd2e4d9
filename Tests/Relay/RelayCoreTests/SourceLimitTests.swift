// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import IntegrationTestSupport
import NIOCore
import TestSupport
import Testing

@Suite("Limits of one source and of all", .timeLimit(.minutes(10)))
struct SourceLimitTests {
    private func tunnel(_ number: Int) -> String { String(repeating: String(number, radix: 16), count: 32) }

    /// Runs a relay behind a balancer, since connections from this computer are not counted.
    private func run(
        _ limits: RelayLimits,
        countsSources: Bool = true,
        _ body: (RunningRelay) async throws -> Void
    ) async throws {
        let balancer = try AddressBlock(parsing: "127.0.0.1")
        try await RunningRelay.run(limits: limits) {
            ($0.balancers, $0.countsSources) = ([balancer], countsSources)
        } _: {
            try await body($0.proxied(from: "198.51.100.7"))
        }
    }

    @Test("a source at its limit is rejected, and admitted again after a connection has closed")
    func connections() async throws {
        try await run(.testing { $0.connectionsPerSource = 2 }) { relay in
            let (first, _) = try await relay.phone(tunnel: tunnel(1))
            let (second, _) = try await relay.phone(tunnel: tunnel(2))
            #expect(await (try relay.connection()).readToEnd() == [])
            try await first.hangUp()
            // The relay detects the close asynchronously.
            try await untilAccepted { try await relay.requestTunnel(tunnel: tunnel(3)).head }
            _ = second
        }
    }

    @Test("the relay's total limit applies to all sources")
    func all() async throws {
        try await RunningRelay.run(limits: .testing { $0.connections = 1 }) { relay in
            let (first, _) = try await relay.phone(tunnel: tunnel(1))
            #expect(await (try relay.connection()).readToEnd() == [])
            try await first.hangUp()
            try await untilAccepted { try await relay.requestTunnel(tunnel: tunnel(2)).head }
        }
    }

    @Test("a source that opens tunnels too fast gets 429; its clients still reach their phones")
    func rate() async throws {
        // With a higher rate, another tunnel could become available on a slow machine.
        try await run(.testing { $0.newPerMinuteAndSource = 1 }) { relay in
            let (phone, routing) = try await relay.phone(tunnel: tunnel(1))
            let (late, refusal) = try await relay.requestTunnel(tunnel: tunnel(2))
            #expect(refusal.hasPrefix("HTTP/1.1 429 ") && refusal.contains("\r\nRetry-After: "))
            _ = await late.readToEnd()
            let (client, head) = try await relay.client(routing: routing, tunnel: tunnel(1))
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            try await client.send(Wire.frame([1]))
            #expect(try await phone.readMessage() == [1])
        }
    }

    @Test("no source is counted behind a balancer that does not state sources")
    func notCounted() async throws {
        let limits = RelayLimits.testing { ($0.connectionsPerSource, $0.newPerMinuteAndSource) = (1, 1) }
        try await run(limits, countsSources: false) { relay in
            for number in 1...4 { _ = try await relay.phone(tunnel: tunnel(number)) }
        }
    }

    @Test("connections from this computer are not counted")
    func loopback() async throws {
        let limits = RelayLimits.testing { ($0.connectionsPerSource, $0.newPerMinuteAndSource) = (1, 1) }
        try await RunningRelay.run(limits: limits) { relay in
            for number in 1...4 { _ = try await relay.phone(tunnel: tunnel(number)) }
        }
    }

    // MARK: Networks

    /// Returns the relay behind a balancer, with connections from a /64 of one /48.
    private func subnet(_ number: Int, of relay: RunningRelay) -> RunningRelay {
        var relay = relay
        relay.header = Array("PROXY TCP6 2001:db8:1:\(number)::7 2001:db8::9 40000 443\r\n".utf8)
        return relay
    }

    @Test("the /64s of a /48 share a limit, which other networks do not")
    func network() async throws {
        try await run(.testing { ($0.connectionsPerSource, $0.networkFactor) = (1, 3) }) { relay in
            var ends: [RawClient] = []
            for number in 1...3 { ends.append(try await subnet(number, of: relay).phone(tunnel: tunnel(number)).end) }
            #expect(await (try subnet(4, of: relay).connection()).readToEnd() == [])
            ends.append(try await relay.phone(tunnel: tunnel(5)).end)
        }
    }

    // MARK: Rates

    @Test("a source that opens connections too fast is rejected; others are not")
    func connectionRate() async throws {
        try await run(.testing { $0.connectionsPerMinuteAndSource = 2 }) { relay in
            for number in 1...2 { try await relay.phone(tunnel: tunnel(number)).end.hangUp() }
            #expect(await (try relay.connection()).readToEnd() == [])
            _ = try await relay.proxied(from: "198.51.100.8").phone(tunnel: tunnel(3))
        }
    }

    @Test("failed requests use up half of the rate of their source")
    func failures() async throws {
        // So low that the next connection is permitted only after 15 seconds, even if the test is slow.
        try await run(.testing { $0.connectionsPerMinuteAndSource = 4 }) { relay in
            let (end, head) = try await relay.client(routing: "000100", tunnel: tunnel(1))
            #expect(head.hasPrefix("HTTP/1.1 404 "))
            _ = await end.readToEnd()
            for number in 2...3 { try await relay.phone(tunnel: tunnel(number)).end.hangUp() }
            #expect(await (try relay.connection()).readToEnd() == [])
        }
    }

    // MARK: Room for clients

    @Test("phones leave an eighth of the connections to clients")
    func share() async throws {
        try await RunningRelay.run(limits: .testing { $0.connections = 8 }) { relay in
            var phones: [(end: RawClient, routing: String)] = []
            for number in 1...7 { phones.append(try await relay.phone(tunnel: tunnel(number))) }
            let (late, head) = try await relay.requestTunnel(tunnel: tunnel(8))
            #expect(head.hasPrefix("HTTP/1.1 503 "))
            _ = await late.readToEnd()
            // The relay closes a socket before it stops counting the connection.
            try await Waiting.until("the refused connection to be gone") { relay.server.connections == 7 }
            let (client, joined) = try await relay.client(routing: phones[0].routing, tunnel: tunnel(1))
            #expect(joined.hasPrefix("HTTP/1.1 101 "))
            try await client.send(Wire.frame([1]))
            #expect(try await phones[0].end.readMessage() == [1])
        }
    }

    @Test("a full relay closes silent connections, the oldest first, for new ones")
    func displaced() async throws {
        // Each event loop replaces connections of its own.
        try await RunningRelay.run(limits: .testing { $0.connections = 3 }, loops: 1) { relay in
            let (phone, routing) = try await relay.phone(tunnel: tunnel(1))
            let silent = try await relay.connection()
            // The relay accepts in order, so this one is younger.
            let younger = try await relay.connection()
            let (client, head) = try await relay.client(routing: routing, tunnel: tunnel(1))
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            #expect(await silent.readToEnd() == [])
            try await client.send(Wire.frame([1]))
            #expect(try await phone.readMessage() == [1])
            try await younger.send(UpgradeRequestTests.head(["GET": "GET /cable/new/\(tunnel(2)) HTTP/1.1"]))
            #expect(try await younger.readHead().hasPrefix("HTTP/1.1 101 "))
            #expect(await (try relay.connection()).readToEnd() == [], "all connections have tunnels")
        }
    }

    private func untilAccepted(_ ask: () async throws -> String) async throws {
        var head = ""
        while !head.hasPrefix("HTTP/1.1 101 ") { head = (try? await ask()) ?? "" }
    }
}
