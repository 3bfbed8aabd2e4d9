// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import Logging
import NIOCore
import NIOSSL
import TestSupport
import Testing

/// A relay on a port of its own, and the two ends of tunnels through it.
struct RunningRelay {
    let server: RelayServer
    let address: SocketAddress
    let tls: NIOSSLContext?
    /// What each connection begins with: a balancer's PROXY header, if anything.
    var header: [UInt8] = []

    /// Runs a relay for the time of `body`.
    @discardableResult
    static func run<Outcome>(
        on host: String = "127.0.0.1",
        transport: RelayTransport = .plaintext,
        clientTLS: NIOSSLContext? = nil,
        limits: RelayLimits = .testing(),
        configure: (inout RelayConfiguration) -> Void = { _ in },
        _ body: (RunningRelay) async throws -> Outcome
    ) async throws -> Outcome {
        let address = try SocketAddress(ipAddress: host, port: 0)
        var configuration = RelayConfiguration(listen: [address], transport: transport, limits: limits, node: 0x00AB)
        configure(&configuration)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = RelayServer(configuration: configuration, logger: logger)
        let bound = try #require(try await server.start().first)
        do {
            let outcome = try await body(RunningRelay(server: server, address: bound, tls: clientTLS))
            await server.shutdown()
            return outcome
        } catch {
            await server.shutdown()
            throw error
        }
    }

    /// The same relay as it looks from behind a balancer, for a source with this address.
    func seen(from address: String) -> RunningRelay {
        var relay = self
        relay.header = Array("PROXY TCP4 \(address) 203.0.113.9 40000 443\r\n".utf8)
        return relay
    }

    func connection() async throws -> RawClient {
        let client = try await RawClient.connect(to: address, tls: tls)
        if !header.isEmpty { try await client.send(header) }
        return client
    }

    /// Waits until nobody can connect any more; for a relay on an address of its own, where no other test's relay can
    /// take its port over.
    ///
    /// A child of another test may hold a copy of the listening socket until it executes its program.
    func untilUnreachable() async throws {
        try await Waiting.until("the relay's port to be closed") {
            guard let client = try? await connection() else { return true }
            try? await client.hangUp()
            return false
        }
    }

    /// The head of the answer to somebody who wants to open a tunnel.
    func asking(
        tunnel: String = UpgradeRequestTests.tunnel,
        adding: [String] = []
    ) async throws -> (end: RawClient, head: String) {
        let client = try await connection()
        let line = "GET /cable/new/\(tunnel) HTTP/1.1"
        try await client.send(UpgradeRequestTests.head(["GET": line], adding: adding))
        return (client, try await client.readHead())
    }

    /// A phone whose upgrade went well, and its routing ID.
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

    /// A client that asked to join, and the head of the answer.
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

    /// Both ends of a paired tunnel.
    func pair(tunnel: String = UpgradeRequestTests.tunnel) async throws -> (phone: RawClient, client: RawClient) {
        let (phone, routing) = try await phone(tunnel: tunnel)
        let (client, head) = try await client(routing: routing, tunnel: tunnel)
        try #require(head.hasPrefix("HTTP/1.1 101 "))
        #expect(!head.contains("Routing-ID"))
        return (phone, client)
    }
}

extension RelayLimits {
    /// The defaults with changes; deadlines are looked at every 20 ms, and a request may take as long as it takes a machine
    /// that does much else.
    static func testing(_ change: (inout RelayLimits) -> Void = { _ in }) -> RelayLimits {
        var limits = RelayLimits()
        limits.sweepInterval = .milliseconds(20)
        limits.headTime = .seconds(60)
        change(&limits)
        return limits
    }
}
