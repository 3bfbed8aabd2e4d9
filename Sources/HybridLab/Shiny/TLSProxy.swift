// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// A proxy on the loopback interface that terminates TLS for an HTTP server on the same computer.
struct TLSProxy: Sendable {
    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// The port on 127.0.0.1.
    let port: Int
    private let listener: NIOAsyncChannel<Connection, Never>
    private let target: Int

    /// Starts listening on a free port.
    ///
    /// - Parameters:
    ///   - certificate: The certificate in PEM.
    ///   - key: The key of the certificate in PEM.
    ///   - target: The server's port on 127.0.0.1.
    static func start(certificate: String, key: String, target: Int) async throws -> TLSProxy {
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem))],
                privateKey: .privateKey(NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
            )
        )
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
        return TLSProxy(port: listener.channel.localAddress?.port ?? 0, listener: listener, target: target)
    }

    /// Forwards connections until the task is canceled, and closes all of them.
    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await listener.executeThenClose { connections in
                for try await connection in connections {
                    // A connection that fails, for example in the handshake, ends alone.
                    group.addTask { try? await forward(connection) }
                }
            }
            group.cancelAll()
        }
    }

    private func forward(_ client: Connection) async throws {
        try await client.executeThenClose { fromClient, toClient in
            let server = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: target) { channel in
                    channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
                }
            try await server.executeThenClose { fromServer, toServer in
                // The first side that ends closes both.
                try await withThrowingTaskGroup { group in
                    group.addTask { for try await bytes in fromClient { try await toServer.write(bytes) } }
                    group.addTask { for try await bytes in fromServer { try await toClient.write(bytes) } }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        }
    }
}
