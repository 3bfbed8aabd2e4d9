// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOPosix
import Testing

/// Behavior of a server that is hostile or no relay.
enum Hostility: Sendable {
    /// Sends a text to each connection, or to each request, and then nothing.
    case greets(String)
    case answers(String)
    /// Answers a request slowly, byte by byte.
    case trickles
    /// Sends the same bytes endlessly: to each connection, or behind a correct WebSocket response.
    case floods([UInt8])
    case upgradesAndFloods([UInt8])
    /// Sends bytes behind a correct response, repeated up to a number of bytes.
    case upgradesAndSends([UInt8], atLeast: Int = 0)
    /// Closes or resets a connection at the first request, or after a number of correct responses.
    case hangsUp
    case resets
    case resetsAfter(Int)
}

/// One connection to the server.
private final class HostileEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let hostility: Hostility
    private let number: Int
    private var received = ""
    private var isUpgraded = false

    init(_ hostility: Hostility, number: Int) { (self.hostility, self.number) = (hostility, number) }

    func channelActive(context: ChannelHandlerContext) {
        switch hostility {
        case .greets(let text): write(Array(text.utf8), context)
        case .floods(let bytes): flood(Self.long(bytes), context)
        default: break
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isUpgraded else { return }
        received += String(decoding: unwrapInboundIn(data).readableBytesView, as: UTF8.self)
        guard received.hasSuffix("\r\n\r\n") else { return }
        switch hostility {
        case .hangsUp: context.close(promise: nil)
        case .answers(let text): write(Array(text.utf8), context)
        case .trickles: trickle(context)
        case .upgradesAndFloods(let bytes):
            upgrade(context)
            flood(Self.long(bytes), context)
        case .upgradesAndSends(let bytes, let count):
            upgrade(context)
            context.writeAndFlush(wrapOutboundOut(Self.long(bytes, count)), promise: nil)
        case .resetsAfter(let count) where number <= count: upgrade(context)
        case .resets, .resetsAfter: reset(context)
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    private func upgrade(_ context: ChannelHandlerContext) {
        isUpgraded = true
        let line = received.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }
        let key = String(line?.dropFirst("Sec-WebSocket-Key: ".count) ?? "")
        let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        let fields = "Sec-WebSocket-Protocol: fido.cable\r\nX-caBLE-Routing-ID: 000000\r\n\r\n"
        write(Array((head + "Sec-WebSocket-Accept: \(Accept.value(for: key))\r\n" + fields).utf8), context)
    }

    private func trickle(_ context: ChannelHandlerContext) {
        write([UInt8(ascii: "H")], context)
        let me = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(20)) {
            let (end, context) = me.value
            if context.channel.isActive { end.trickle(context) }
        }
    }

    /// The bytes, repeated to send a flood in large pieces.
    private static func long(_ bytes: [UInt8], _ count: Int = 1 << 16) -> ByteBuffer {
        var long = ByteBuffer(bytes: bytes)
        while long.readableBytes < count { long.writeImmutableBuffer(long) }
        return long
    }

    private func flood(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        let me = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(bytes)).whenSuccess {
            // Deferred: a write that succeeds at once would recurse endlessly.
            me.value.1.eventLoop.execute { me.value.0.flood(bytes, me.value.1) }
        }
    }

    private func reset(_ context: ChannelHandlerContext) {
        let atOnce = linger(l_onoff: 1, l_linger: 0)
        _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(atOnce)
        context.close(promise: nil)
    }
}

extension Hostility {
    /// Runs the server while `body` runs, which receives its port.
    func serve(_ body: (Int) async throws -> Void) async throws {
        // A separate thread, because a flood would block the threads that other tests share.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let eventLoop = group.next()
        let count = try await eventLoop.submit { NIOLoopBoundBox(0, eventLoop: eventLoop) }.get()
        let server = try await ServerBootstrap(group: eventLoop)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    count.value += 1
                    let end = HostileEnd(self, number: count.value)
                    try channel.pipeline.syncOperations.addHandler(end)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(port))
        } catch {
            result = .failure(error)
        }
        try await server.close()
        try await group.shutdownGracefully()
        try result.get()
    }
}
