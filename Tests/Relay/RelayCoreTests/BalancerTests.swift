// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import IntegrationTestSupport
import NIOCore
import TestSupport
import Testing

@Suite("A relay behind a balancer", .timeLimit(.minutes(10)))
struct BalancerTests {
    private let other = String(repeating: "d", count: 32)

    private func behind(
        _ blocks: [String] = ["127.0.0.0/8"],
        limits: RelayLimits = .testing(),
        _ body: (RunningRelay) async throws -> Void
    ) async throws {
        let blocks = try blocks.map { try AddressBlock(parsing: $0) }
        try await RunningRelay.run(limits: limits, configure: { $0.balancers = blocks }, body)
    }

    @Test("counts the sources in the headers, not the balancer")
    func sources() async throws {
        try await behind(limits: .testing { $0.connectionsPerSource = 1 }) { relay in
            let first = try await relay.proxied(from: "198.51.100.1").requestTunnel()
            #expect(first.head.hasPrefix("HTTP/1.1 101 "))
            let second = try await relay.proxied(from: "198.51.100.2").requestTunnel(tunnel: other)
            #expect(second.head.hasPrefix("HTTP/1.1 101 "))
            #expect(await (try relay.proxied(from: "198.51.100.1").connection()).readToEnd() == [])
        }
    }

    @Test("accepts a header in pieces, together with the bytes after it")
    func pieces() async throws {
        try await behind { relay in
            let client = try await relay.connection()
            let wire = relay.proxied(from: "198.51.100.1").header + UpgradeRequestTests.head()
            for byte in wire.prefix(60) { try await client.send([byte]) }
            try await client.send(Array(wire.dropFirst(60)))
            #expect(try await client.readHead().hasPrefix("HTTP/1.1 101 "))
        }
    }

    @Test("closes a balancer's connection if the header is missing, malformed or late")
    func missing() async throws {
        try await behind { relay in
            for wire in [UpgradeRequestTests.head(), Array("PROXY TCP4 x\r\n".utf8)] {
                let client = try await relay.connection()
                try await client.send(wire)
                #expect(await client.readToEnd() == [])
            }
        }
        try await behind(limits: .testing { $0.headTime = .milliseconds(300) }) { relay in
            let client = try await relay.connection()
            #expect(await client.readToEnd() == [])
        }
    }

    @Test("accepts a header only from balancers")
    func otherPeer() async throws {
        try await behind(["192.0.2.0/24"]) { relay in
            let (client, head) = try await relay.proxied(from: "198.51.100.1").requestTunnel()
            #expect(head.hasPrefix("HTTP/1.1 400 "))
            _ = await client.readToEnd()
            _ = try await relay.phone()
        }
    }
}
