// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridNetwork
import HybridPrimitives
import HybridRelayCore
import NIOSSL
import NetworkTestSupport
import Testing

@testable import HybridDataChannel

/// A relay that accepts one connection and runs a script.
enum ScriptedRelay {
    /// Runs script and client in parallel and returns both results.
    ///
    /// - Parameter identity: The server's certificate; `nil` for a server without TLS.
    static func run<Seen: Sendable, Outcome: Sendable>(
        _ identity: TestCertificates.Identity? = .relay,
        script: @escaping @Sendable (Peer) async throws -> Seen,
        client: @escaping @Sendable (RelayEndpoint) async throws -> Outcome
    ) async throws -> (seen: Seen, outcome: Outcome) {
        try await ScriptedServer.run(identity, script: script) { try await client(try await endpoint(port: $0)) }
    }

    /// Runs script and client in parallel and returns both results.
    ///
    /// - Parameter tls: The server's TLS, or `nil` for none.
    static func run<Seen: Sendable, Outcome: Sendable>(
        with tls: NIOSSLContext?,
        script: @escaping @Sendable (Peer) async throws -> Seen,
        client: @escaping @Sendable (RelayEndpoint) async throws -> Outcome
    ) async throws -> (seen: Seen, outcome: Outcome) {
        try await ScriptedServer.run(with: tls, script: script) { try await client(try await endpoint(port: $0)) }
    }

    /// Returns an endpoint that leads to a local server.
    static func endpoint(host: String = "127.0.0.1", port: Int) async throws -> RelayEndpoint {
        let domain = try #require(TestCertificates.domain)
        return RelayEndpoint(domain: domain, network: try await ScriptedServer.network(host: host, port: port))
    }

    /// Returns the endpoint of the same server as a proxy that leads to the relay.
    static func behindProxy(_ endpoint: RelayEndpoint, exceptions: String = "") -> RelayEndpoint {
        let port = endpoint.target(of: endpoint.domain.host).port
        var endpoint = endpoint
        endpoint.network = ScriptedServer.behindProxy(endpoint.network, port: port, exceptions: exceptions)
        return endpoint
    }
}

extension Peer {
    /// Answers with the correct response, modified by `change`, and `bytes` in the same write.
    @discardableResult
    func answer(
        routing: RoutingID? = RoutingID(node: 0x0102, check: 3),
        then bytes: [UInt8] = [],
        _ change: @Sendable (String) -> String = { $0 }
    ) async throws -> String {
        let head = try await readHead()
        let right = String(decoding: try UpgradeRequest(parsing: head).response(routing: routing), as: UTF8.self)
        try await send(Array(change(right).utf8) + bytes)
        return String(decoding: head, as: UTF8.self)
    }

    func readFrame() async throws -> Wire.Received { try await read { Wire.take(from: &$0) } }

    /// Completes the closing handshake; returns the client's code.
    func finish() async throws -> UInt16? {
        let code = try await readFrame().closeCode
        try? await send(Wire.closeFrame(code))
        await readToEnd()
        return code
    }
}

/// Clients of the scripted relay.
enum Client {
    static let tunnel = TunnelPath.new(TunnelID.test)

    /// Returns the error of opening a tunnel; a tunnel that opens fails the test.
    static func refusal(
        at endpoint: RelayEndpoint,
        _ path: TunnelPath = tunnel,
        bearerToken: BearerToken? = nil
    ) async -> TunnelError? {
        await failure(at: endpoint, path, bearerToken: bearerToken) { _ in Issue.record("it opened") }
    }

    /// Returns the error that ended the tunnel while `body` ran.
    static func failure(
        at endpoint: RelayEndpoint,
        _ path: TunnelPath = tunnel,
        bearerToken: BearerToken? = nil,
        _ body: @Sendable (WebSocketTunnel) async throws -> Void
    ) async -> TunnelError? {
        do {
            try await WebSocketTunnel.withTunnel(path, at: endpoint, bearerToken: bearerToken, body)
            return nil
        } catch let error as TunnelError {
            return error
        } catch {
            Issue.record(error)
            return nil
        }
    }
}

extension TunnelID {
    /// The tunnel of most tests.
    static var test: TunnelID { numbered(0xA5) }

    static func numbered(_ byte: UInt8) -> TunnelID {
        guard let id = TunnelID(bytes: [UInt8](repeating: byte, count: length)) else { fatalError("16 bytes") }
        return id
    }
}

extension WebSocketTunnel {
    /// Receives the next message, whatever its contents.
    func next() async throws -> [UInt8] { try await receive { $0.bytes } }
}

extension TunnelError {
    var isMisbehavior: Bool { code == "relay-misbehaved" }

    /// The error without the `--connect-to` override in the host's name, whose port differs between runs.
    var bare: TunnelError {
        var error = self
        error.sentence.replace(#/ \(by --connect-to [^)]*\)/#, with: "")
        return error
    }
}
