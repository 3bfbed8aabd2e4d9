// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL
import Testing

/// One end of a TCP or TLS connection that writes and reads raw bytes.
final class RawClient {
    private let channel: any Channel
    private let inbound: AsyncStream<ByteBuffer>
    private var received: [UInt8] = []

    private init(channel: any Channel, inbound: AsyncStream<ByteBuffer>) {
        self.channel = channel
        self.inbound = inbound
    }

    /// Connects.
    ///
    /// With a TLS context, the host name is `localhost`.
    static func connect(to address: SocketAddress, tls: NIOSSLContext? = nil) async throws -> RawClient {
        let (stream, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        let handler = try NIOSSLClientHandler(context: tls, serverHostname: "localhost")
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try channel.pipeline.syncOperations.addHandler(Collector(continuation: continuation))
                }
            }
            .connect(to: address).get()
        return RawClient(channel: channel, inbound: stream)
    }

    func send(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    func hangUp() async throws {
        try await channel.close().get()
    }

    /// The connection closed within a head or before a frame.
    struct Gone: Error {}

    /// Returns the response head including its empty line.
    ///
    /// - Throws: ``Gone``. The caller decides if that is a failure or a reason to retry.
    func readHead() async throws -> String {
        while true {
            let text = String(decoding: received, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n") {
                let head = String(text[..<end.upperBound])
                received.removeFirst(head.utf8.count)
                return head
            }
            guard await readMore() else { throw Gone() }
        }
    }

    /// Returns the next frame other than a ping.
    ///
    /// Pings are answered. On a busy machine they may arrive at any time.
    func readFrame() async throws -> Wire.Received {
        while true {
            let frame = try await readAnyFrame()
            guard frame.opcode == Wire.ping else { return frame }
            // The relay may have closed already; its close frame follows.
            try? await send(Wire.frame(frame.payload, opcode: Wire.pong))
        }
    }

    /// Returns the next frame; a ping is not answered.
    ///
    /// - Throws: ``Gone``.
    func readAnyFrame() async throws -> Wire.Received {
        while true {
            var rest = received[...]
            if let frame = Wire.take(from: &rest) {
                received = Array(rest)
                return frame
            }
            guard await readMore() else { throw Gone() }
        }
    }

    /// Returns the next message, joined from its fragments.
    func readMessage() async throws -> [UInt8] {
        var frame = try await readFrame()
        try #require(frame.opcode == Wire.binary)
        var message = frame.payload
        while !frame.final {
            frame = try await readFrame()
            try #require(frame.opcode == 0)
            message += frame.payload
        }
        return message
    }

    /// Returns all bytes up to the end of the connection.
    func readToEnd() async -> [UInt8] {
        while await readMore() {}
        defer { received = [] }
        return received
    }

    /// Reads a close frame and the end of the connection, and returns the code.
    func readClose() async throws -> UInt16? {
        let frame = try await readFrame()
        #expect(frame.opcode == Wire.close)
        #expect(await readToEnd() == [])
        return frame.closeCode
    }

    private func readMore() async -> Bool {
        var iterator = inbound.makeAsyncIterator()
        guard let bytes = await iterator.next() else { return false }
        received += bytes.readableBytesView
        return true
    }
}

private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let continuation: AsyncStream<ByteBuffer>.Continuation

    init(continuation: AsyncStream<ByteBuffer>.Continuation) {
        self.continuation = continuation
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        continuation.yield(unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) {
        continuation.finish()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
