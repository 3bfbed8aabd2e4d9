// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc
internal import HybridCaBLE
package import HybridNetwork
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOPosix
package import TestSupport

/// OpenSSL's test server, an independent implementation of TLS 1.3 with early data.
package final class OpenSSLServer: Sendable {
    /// The port of 127.0.0.1.
    package let port: Int
    private let process: SpawnedProcess
    private let log: String
    /// The server's standard input, whose lines it sends to the client.
    private let input: FileHandle

    /// The server could not be started.
    struct NotStarted: Error {}

    /// Starts a server, which writes what it receives to a file of `folder`.
    package init(_ identity: TestCertificates.Identity, _ arguments: [String], in folder: TestFolder) async throws {
        let certificates = try await TestCertificates.shared()
        let (log, pipe) = (folder.path + "/\(UUID().uuidString).log", folder.path + "/\(UUID().uuidString).in")
        guard mkfifo(pipe, 0o600) == 0 else { throw NotStarted() }
        // Opened for both directions, so that neither this nor the server's opening waits.
        guard let input = FileHandle(forUpdatingAtPath: pipe) else { throw NotStarted() }
        self.input = input
        process = try SpawnedProcess(
            [
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificates.certificate(identity), "-key",
                certificates.key(identity), "-alpn", "http/1.1",
            ] + arguments,
            input: pipe,
            output: log,
            errors: log
        )
        self.log = log
        var found: Int?
        try await Waiting.until("OpenSSL's server", evidence: TestFile.text(log)) {
            found = TestFile.text(log).firstMatch(of: #/ACCEPT .*:([0-9]+)\n/#).flatMap { Int($0.1) }
            return found != nil
        }
        guard let port = found else { throw NotStarted() }
        self.port = port
    }

    /// Everything that the server has written so far.
    package var output: String { TestFile.text(log) }

    /// Waits until the output contains a text.
    package func wait(for text: String) async throws {
        try await Waiting.until("\(text.debugDescription)", evidence: output) { output.contains(text) }
    }

    /// Sends a line to the client.
    package func send(_ line: String) throws { try input.write(contentsOf: Data((line + "\n").utf8)) }
}

/// A connection of the product's client TLS that collects what it receives.
package final class TLSTestClient: Sendable {
    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let client: TLSTestClient

        init(_ client: TLSTestClient) { self.client = client }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = Self.unwrapInboundIn(data)
            client.state.withLockedValue { $0.received += String(buffer: bytes) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            client.state.withLockedValue { $0.failure = $0.failure ?? (error as? TLSFailure) }
            context.close(promise: nil)
        }
    }

    private struct State {
        var received = ""
        var failure: TLSFailure?
    }

    private let state = NIOLockedValueBox(State())
    private let channel = NIOLockedValueBox<(any Channel)?>(nil)

    /// Everything received so far.
    package var received: String { state.withLockedValue { $0.received } }
    /// The first error.
    package var failure: TLSFailure? { state.withLockedValue { $0.failure } }

    /// Connects, with a first request that is written before the handshake.
    package init(
        to port: Int,
        _ tls: ClientTLS,
        sessions: TLSSessions?,
        sendsEarlyData: Bool = true,
        host: String = TestCertificates.domain?.host ?? "",
        request: String
    ) async throws {
        let opened = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = tls.handler(for: host, sessions: sessions, sendsEarlyData: sendsEarlyData)
                    try channel.pipeline.syncOperations.addHandlers([handler, Collector(self)])
                    channel.writeAndFlush(ByteBuffer(string: request), promise: nil)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        channel.withLockedValue { $0 = opened }
    }

    /// Sends more data.
    package func send(_ text: String) {
        channel.withLockedValue { $0 }?.writeAndFlush(ByteBuffer(string: text), promise: nil)
    }

    /// Closes the connection.
    package func close() async { try? await channel.withLockedValue { $0 }?.close().get() }

    /// Waits for the end of the connection.
    package func waitForEnd() async { try? await channel.withLockedValue { $0 }?.closeFuture.get() }
}
