// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import HybridPrimitives
import HybridRelayCore
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

@testable import HybridDataChannel

/// A server that accepts one connection and runs a script.
enum ScriptedRelay {
    /// The peer closed before the script ended.
    struct Gone: Error {}

    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private typealias Server = NIOAsyncChannel<Connection, Never>

    /// Runs script and client in parallel and returns both results.
    ///
    /// - Parameter identity: The server's certificate; `nil` for a server without TLS.
    static func run<Seen: Sendable, Outcome: Sendable>(
        _ identity: TestCertificates.Identity? = .relay,
        script: @escaping @Sendable (Peer) async throws -> Seen,
        client: @escaping @Sendable (RelayEndpoint) async throws -> Outcome
    ) async throws -> (seen: Seen, outcome: Outcome) {
        var tls: NIOSSLContext?
        if let identity { tls = try await TestCertificates.context(identity) }
        return try await run(with: tls, script: script, client: client)
    }

    /// Runs script and client in parallel and returns both results.
    ///
    /// - Parameter tls: The server's TLS, or `nil` for none.
    static func run<Seen: Sendable, Outcome: Sendable>(
        with tls: NIOSSLContext?,
        script: @escaping @Sendable (Peer) async throws -> Seen,
        client: @escaping @Sendable (RelayEndpoint) async throws -> Outcome
    ) async throws -> (seen: Seen, outcome: Outcome) {
        let server: Server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
        let port = try #require(server.channel.localAddress?.port)
        let endpoint = try await endpoint(port: port)
        async let seen = serve(server, script)
        let outcome = try await client(endpoint)
        return (try await seen, outcome)
    }

    /// Returns an endpoint that leads to a local server.
    static func endpoint(host: String = "127.0.0.1", port: Int) async throws -> RelayEndpoint {
        let domain = try #require(TestCertificates.domain)
        let override: ConnectTo = try #require(ConnectTo("\(domain.host):443:\(host):\(port)"))
        let authority = try await TestCertificates.shared().authority
        return RelayEndpoint(
            domain: domain,
            network: NetworkConfiguration(connectTo: [override], trustedCertificates: authority)
        )
    }

    /// Returns the endpoint of the same server as a proxy that leads to the relay.
    static func behindProxy(_ endpoint: RelayEndpoint, exceptions: String = "") -> RelayEndpoint {
        let port = endpoint.target(of: endpoint.domain.host).port
        var endpoint = endpoint
        endpoint.network.connectTo = []
        endpoint.network.proxies = ProxySettings(
            environment: ["HTTPS_PROXY": "http://127.0.0.1:\(port)", "NO_PROXY": exceptions]
        )
        return endpoint
    }

    private static func serve<Seen: Sendable>(
        _ server: Server,
        _ script: @escaping @Sendable (Peer) async throws -> Seen
    ) async throws -> Seen {
        try await server.executeThenClose { connections in
            for try await connection in connections {
                return try await connection.executeThenClose { inbound, outbound in
                    try await script(Peer(inbound.makeAsyncIterator(), outbound, connection.channel))
                }
            }
            throw Gone()
        }
    }
}

/// The script's end of the connection.
final class Peer {
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let channel: any Channel
    private var received: [UInt8] = []

    init(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
        _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>,
        _ channel: any Channel
    ) {
        self.inbound = inbound
        self.outbound = outbound
        self.channel = channel
    }

    /// Sends bytes; returns once the system has taken them, or there is some room for more.
    func send(_ bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

    /// Sends bytes; returns once the system has taken them.
    func sendThrough(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Accepts the request of a proxy's client, and continues as the relay behind the proxy.
    ///
    /// - Returns: The request.
    func answerAsProxy(for identity: TestCertificates.Identity) async throws -> String {
        let head = try await readHead()
        let tls = try await TestCertificates.context(identity)
        // In one turn of the loop, so that the client's next bytes find TLS in place.
        try await channel.eventLoop.submit { [channel] in
            channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n"), promise: nil)
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls), position: .first)
        }.get()
        return String(decoding: head, as: UTF8.self)
    }

    /// Reads the head of the request, including its empty line.
    func readHead() async throws -> [UInt8] {
        while true {
            if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
                defer { received.removeSubrange(..<end.upperBound) }
                return Array(received[..<end.upperBound])
            }
            guard await readMore() else { throw ScriptedRelay.Gone() }
        }
    }

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

    func readFrame() async throws -> Wire.Received {
        while true {
            if let frame = Wire.take(from: &received) { return frame }
            guard await readMore() else { throw ScriptedRelay.Gone() }
        }
    }

    /// Reads all bytes until the peer closes.
    @discardableResult
    func readToEnd() async -> [UInt8] {
        while await readMore() {}
        defer { received = [] }
        return received
    }

    /// Completes the closing handshake; returns the client's code.
    func finish() async throws -> UInt16? {
        let code = try await readFrame().closeCode
        try? await send(Wire.closeFrame(code))
        await readToEnd()
        return code
    }

    private func readMore() async -> Bool {
        // A broken connection has ended, too.
        guard let bytes = try? await inbound.next() else { return false }
        received += bytes.readableBytesView
        return true
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

/// A one-time event that tasks can wait for.
struct Signal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func fire() { continuation.finish() }
    func wait() async { for await _ in stream {} }
}
