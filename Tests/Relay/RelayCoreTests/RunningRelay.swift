// SPDX-License-Identifier: Apache-2.0

import IntegrationTestSupport
import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import HybridRelayCore

/// A relay on its own port, and the ends of tunnels through it.
struct RunningRelay {
    let server: RelayServer
    let address: SocketAddress
    let tls: NIOSSLContext?
    /// First bytes of each connection: a balancer's PROXY header, or nothing.
    var header: [UInt8] = []

    /// Runs a relay for the duration of `body`; all its event loops accept connections.
    @discardableResult
    static func run<Outcome: Sendable>(
        on host: String = "127.0.0.1",
        transport: SocketSecurity = .plaintext,
        clientTLS: NIOSSLContext? = nil,
        limits: RelayLimits = .testing(),
        loops: Int? = nil,
        configure: (inout RelayConfiguration) -> Void = { _ in },
        _ body: (RunningRelay) async throws -> Outcome
    ) async throws -> Outcome {
        try await TestRelay.run(
            on: host,
            transport: transport,
            limits: limits,
            loops: loops,
            configure: configure
        ) { server, address in
            server.acceptOnAllLoops()
            return try await body(RunningRelay(server: server, address: address, tls: clientTLS))
        }
    }

    /// Returns the relay behind a balancer, with connections from this address.
    func proxied(from address: String) -> RunningRelay {
        var relay = self
        relay.header = Array("PROXY TCP4 \(address) 203.0.113.9 40000 443\r\n".utf8)
        return relay
    }

    func connection() async throws -> RawClient {
        let client = try await RawClient.connect(to: address, tls: tls)
        if !header.isEmpty { try await client.send(header) }
        return client
    }

    /// Waits until no connection is accepted.
    ///
    /// The relay must have its own address, so that no other test takes the port.
    ///
    /// A child process of another test may hold a copy of the listening socket until it executes its program.
    func untilUnreachable() async throws {
        try await Waiting.until("the relay's port to be closed") {
            guard let client = try? await connection() else { return true }
            try? await client.hangUp()
            return false
        }
    }

    /// Requests a tunnel and returns the head of the response.
    func requestTunnel(
        tunnel: String = UpgradeRequestTests.tunnel,
        adding: [String] = []
    ) async throws -> (end: RawClient, head: String) {
        let client = try await connection()
        let line = "GET /cable/new/\(tunnel) HTTP/1.1"
        try await client.send(UpgradeRequestTests.head(["GET": line], adding: adding))
        return (client, try await client.readHead())
    }

    /// Connects a phone and returns it with its routing ID.
    func phone(
        tunnel: String = UpgradeRequestTests.tunnel,
        glued: [UInt8] = []
    ) async throws -> (end: RawClient, routing: String) {
        let client = try await connection()
        try await client.send(UpgradeRequestTests.head(["GET": "GET /cable/new/\(tunnel) HTTP/1.1"]) + glued)
        let head = try await client.readHead()
        try #require(head.hasPrefix("HTTP/1.1 101 "))
        #expect(head.contains("\r\nSec-WebSocket-Protocol: fido.cable\r\n"))
        let field = try #require(head.firstRange(of: "X-caBLE-Routing-ID: "))
        let routing = String(head[field.upperBound...].prefix(6))
        #expect(routing.hasPrefix("00ab"))
        return (client, routing)
    }

    /// Connects a client and returns it with the head of the response.
    func client(
        routing: String,
        tunnel: String = UpgradeRequestTests.tunnel,
        glued: [UInt8] = []
    ) async throws -> (end: RawClient, head: String) {
        let client = try await connection()
        let line = "GET /cable/connect/\(routing)/\(tunnel) HTTP/1.1"
        try await client.send(UpgradeRequestTests.head(["GET": line]) + glued)
        return (client, try await client.readHead())
    }

    /// Opens a tunnel and returns both ends.
    func pair(tunnel: String = UpgradeRequestTests.tunnel) async throws -> (phone: RawClient, client: RawClient) {
        let (phone, routing) = try await phone(tunnel: tunnel)
        let (client, head) = try await client(routing: routing, tunnel: tunnel)
        try #require(head.hasPrefix("HTTP/1.1 101 "))
        #expect(!head.contains("Routing-ID"))
        return (phone, client)
    }
}
