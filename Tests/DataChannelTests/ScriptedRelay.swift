// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import HybridRelayCore
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

@testable import HybridDataChannel

/// A server that takes one connection and does what a script says, byte by byte.
enum ScriptedRelay {
    /// The script was left by the other end.
    struct Gone: Error {}

    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private typealias Server = NIOAsyncChannel<Connection, Never>

    /// Runs script and client next to each other and returns what both came to.
    ///
    /// Without an identity the server does not speak TLS.
    static func run<Seen: Sendable, Outcome: Sendable>(
        _ identity: TestCertificates.Identity? = .relay,
        script: @escaping @Sendable (Peer) async throws -> Seen,
        client: @escaping @Sendable (RelayEndpoint) async throws -> Outcome
    ) async throws -> (seen: Seen, outcome: Outcome) {
        let certificates = try await TestCertificates.shared()
        let tls = try identity.map { identity in
            try RelayCertificate.context(
                certificateFile: certificates.certificate(identity),
                keyFile: certificates.key(identity)
            )
        }
        let server: Server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
        let port = try #require(server.channel.localAddress?.port)
        let location = try await location(port: port)
        async let seen = serve(server, script)
        let outcome = try await client(location)
        return (try await seen, outcome)
    }

    /// Where the client finds a server of this machine.
    static func location(host: String = "127.0.0.1", port: Int) async throws -> RelayEndpoint {
        let domain = try #require(TestCertificates.domain)
        let detour: ConnectTo = try #require(ConnectTo("\(domain.host):443:\(host):\(port)"))
        return RelayEndpoint(
            domain: domain,
            detours: [detour],
            trustedCertificates: try await TestCertificates.shared().authority
        )
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

/// The script's end of a connection.
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

    /// Returns when the bytes are with the system, or there is a little room for more.
    func send(_ bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

    /// Returns when the bytes are with the system, however slowly the event loop gets to it.
    func sendThrough(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// The request's head, up to and with its empty line.
    func readHead() async throws -> [UInt8] {
        while true {
            if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
                defer { received.removeSubrange(..<end.upperBound) }
                return Array(received[..<end.upperBound])
            }
            guard await readMore() else { throw ScriptedRelay.Gone() }
        }
    }

    /// Answers with whatever `answer` makes of the right answer, and `bytes` in the same write.
    @discardableResult
    func answer(
        routing: RoutingID? = RoutingID(node: 0x0102, check: 3),
        then bytes: [UInt8] = [],
        _ change: @Sendable (String) -> String = { $0 }
    ) async throws -> String {
        let head = try await readHead()
        let right = String(buffer: try UpgradeRequest(parsing: head).response(routing: routing))
        try await send(Array(change(right).utf8) + bytes)
        return String(decoding: head, as: UTF8.self)
    }

    func readFrame() async throws -> Wire.Received {
        while true {
            if let frame = Wire.take(from: &received) { return frame }
            guard await readMore() else { throw ScriptedRelay.Gone() }
        }
    }

    /// Everything that still comes before the other end hangs up.
    @discardableResult
    func readToEnd() async -> [UInt8] {
        while await readMore() {}
        defer { received = [] }
        return received
    }

    /// Takes part in the closing handshake; the code that the client gave.
    func finish() async throws -> UInt16? {
        let code = try await readFrame().closeCode
        try? await send(Wire.closeFrame(code))
        await readToEnd()
        return code
    }

    private func readMore() async -> Bool {
        // A connection that breaks has ended, too.
        guard let bytes = try? await inbound.next() else { return false }
        received += bytes.readableBytesView
        return true
    }
}

/// Clients of the scripts.
enum Client {
    static let tunnel = TunnelPath.new(TunnelID.test)

    /// Why opening failed; a tunnel that opens is a failure of the test.
    static func refusal(at location: RelayEndpoint, _ path: TunnelPath = tunnel) async -> TunnelError? {
        await failure(at: location, path) { _ in Issue.record("it opened") }
    }

    /// What ended the tunnel while `body` ran.
    static func failure(
        at location: RelayEndpoint,
        _ path: TunnelPath = tunnel,
        _ body: @Sendable (WebSocketTunnel) async throws -> Void
    ) async -> TunnelError? {
        do {
            try await WebSocketTunnel.withTunnel(path, at: location, body)
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
    /// The next message, whatever it holds.
    func next() async throws -> [UInt8] { try await receive { $0.bytes } }
}

extension TunnelError {
    var isMisbehaviour: Bool { if case .relayMisbehaved = self { true } else { false } }
}

/// Something that happens once, for others to wait for.
struct Signal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func fire() { continuation.finish() }
    func wait() async { for await _ in stream {} }
}

extension TunnelError {
    /// The same of a host that is named without the detour to it, whose port differs from run to run.
    var bare: TunnelError {
        func name(_ host: String) -> String { host.components(separatedBy: " (by --connect-to ")[0] }
        return switch self {
        case .certificateNotTrusted(let host, let issuer): .certificateNotTrusted(host: name(host), issuer: issuer)
        case .certificateSelfSigned(let host): .certificateSelfSigned(host: name(host))
        case .certificateExpired(let host): .certificateExpired(host: name(host))
        case .certificateNotYetValid(let host): .certificateNotYetValid(host: name(host))
        case .certificateForOtherHost(let host): .certificateForOtherHost(name(host))
        case .hungUp(let host, let stage): .hungUp(host: name(host), stage)
        case .timedOut(let host, let stage): .timedOut(host: name(host), stage)
        default: self
        }
    }
}
