// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
package import HybridNetwork
internal import HybridPrimitives
internal import NIOCore
internal import NIOPosix
package import NIOSSL

/// A server that accepts one connection and runs a script.
package enum ScriptedServer {
    /// The peer closed before the script ended.
    package struct Gone: Error {}

    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private typealias Server = NIOAsyncChannel<Connection, Never>

    /// Runs script and client in parallel and returns both results.
    ///
    /// - Parameters:
    ///   - identity: The server's certificate; `nil` for a server without TLS.
    ///   - script: The server's side.
    ///   - client: The client's side, which receives the port.
    package static func run<Seen: Sendable, Outcome: Sendable>(
        _ identity: TestCertificates.Identity? = .relay,
        script: @escaping @Sendable (Peer) async throws -> Seen,
        client: @escaping @Sendable (_ port: Int) async throws -> Outcome
    ) async throws -> (seen: Seen, outcome: Outcome) {
        var tls: NIOSSLContext?
        if let identity { tls = try await TestCertificates.context(identity) }
        return try await run(with: tls, script: script, client: client)
    }

    /// Runs script and client in parallel and returns both results.
    ///
    /// - Parameters:
    ///   - tls: The server's TLS, or `nil` for none.
    ///   - script: The server's side.
    ///   - client: The client's side, which receives the port.
    package static func run<Seen: Sendable, Outcome: Sendable>(
        with tls: NIOSSLContext?,
        script: @escaping @Sendable (Peer) async throws -> Seen,
        client: @escaping @Sendable (_ port: Int) async throws -> Outcome
    ) async throws -> (seen: Seen, outcome: Outcome) {
        let server: Server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
        guard let port = server.channel.localAddress?.port else { throw Gone() }
        async let seen = serve(server, script)
        let outcome = try await client(port)
        return (try await seen, outcome)
    }

    /// Returns settings that lead from the relay's name to a local server, whose authority they trust.
    package static func network(host: String = "127.0.0.1", port: Int) async throws -> NetworkConfiguration {
        let name = TestCertificates.domain?.host ?? ""
        let overrides = [ConnectTo("\(name):443:\(host):\(port)")].compactMap(\.self)
        let authority = try await TestCertificates.shared().authority
        return NetworkConfiguration(connectTo: overrides, trustedCertificates: authority)
    }

    /// Returns the settings for a local server that is a proxy, without overrides of addresses.
    package static func behindProxy(
        _ network: NetworkConfiguration,
        port: Int,
        exceptions: String = ""
    ) -> NetworkConfiguration {
        var network = network
        network.connectTo = []
        network.proxies = ProxySettings(
            environment: ["HTTPS_PROXY": "http://127.0.0.1:\(port)", "NO_PROXY": exceptions]
        )
        return network
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
package final class Peer {
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
    package func send(_ bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

    /// Sends bytes; returns once the system has taken them.
    package func sendThrough(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Accepts the request of a proxy's client, and continues as the server behind the proxy.
    ///
    /// - Parameters:
    ///   - identity: The certificate of the server.
    ///   - interim: Interim responses before the final one.
    /// - Returns: The request.
    package func answerAsProxy(
        for identity: TestCertificates.Identity,
        after interim: String = ""
    ) async throws -> String {
        let head = try await readHead()
        let tls = try await TestCertificates.context(identity)
        // In one turn of the loop, so that the client's next bytes find TLS in place.
        try await channel.eventLoop.submit { [channel] in
            channel.writeAndFlush(ByteBuffer(string: interim + "HTTP/1.1 200 OK\r\n\r\n"), promise: nil)
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls), position: .first)
        }.get()
        return String(decoding: head, as: UTF8.self)
    }

    /// Reads the head of the request, including its empty line.
    package func readHead() async throws -> [UInt8] {
        try await read { received in
            guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
            defer { received.removeSubrange(..<end.upperBound) }
            return Array(received[..<end.upperBound])
        }
    }

    /// Reads until `take` returns a value, which it removes from the bytes received so far.
    package func read<Taken>(_ take: (inout [UInt8]) throws -> Taken?) async throws -> Taken {
        while true {
            if let taken = try take(&received) { return taken }
            guard await readMore() else { throw ScriptedServer.Gone() }
        }
    }

    /// Reads all bytes until the peer closes.
    @discardableResult
    package func readToEnd() async -> [UInt8] {
        while await readMore() {}
        defer { received = [] }
        return received
    }

    private func readMore() async -> Bool {
        // A broken connection has ended, too.
        guard let bytes = try? await inbound.next() else { return false }
        received += bytes.readableBytesView
        return true
    }
}
