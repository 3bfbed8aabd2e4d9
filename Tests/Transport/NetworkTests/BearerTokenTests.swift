// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import NIOCore
import NIOEmbedded
import Testing

@testable import HybridNetwork

@Suite("Tokens, and requests with secrets")
struct BearerTokenTests {
    @Test(
        "Tokens of RFC 6750 are accepted",
        arguments: ["a", "AZaz09-._~+/=", "==", String(repeating: "x", count: 512)]
    )
    func tokens(text: String) throws {
        let token = try #require(BearerToken(text.utf8))
        #expect(token.withUnsafeBytes { Array($0) } == Array(text.utf8))
        #expect(BearerToken(AnyCollection(Array(text.utf8))) == token, "from bytes that are not contiguous")
        #expect(Array(text.utf8).withUnsafeBytes { BearerToken($0) } == token, "from unmanaged memory")
        #expect(BearerToken((text.dropLast() + "!").utf8) == nil)
        #expect(BearerToken((text.dropLast() + "Q").utf8) != token)
    }

    @Test(
        "Other text is rejected",
        arguments: [
            "", " ", "a b", "a\r\nX: y", "a\n", "a\0", "a,b", "a\"", "é", "a:b", String(repeating: "x", count: 513),
        ]
    )
    func noTokens(text: String) {
        #expect(BearerToken(text.utf8) == nil)
    }

    // MARK: Requests

    @Test("The request with a token is wiped once it is written", arguments: [true, false])
    func wiped(isWritten: Bool) throws {
        let token = try #require(BearerToken("hunter2".utf8))
        let (sink, handler) = (Sink(isWritten: isWritten), AuthorizationHandler(token))
        let channel = EmbeddedChannel(handlers: [sink, handler])
        channel.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: h\r\n\r\n"), promise: nil)
        channel.writeAndFlush(ByteBuffer(string: "more\r\n\r\n"), promise: nil)
        #expect(
            sink.texts == ["GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer hunter2\r\n\r\n", "more\r\n\r\n"]
        )
        let request = try #require(handler.request)
        #expect(request.bytes.readableBytes == sink.texts[0].utf8.count)
        #expect(request.bytes.readableBytesView.allSatisfy { $0 == 0 })
        #expect(Sink.address(request.bytes) == sink.addresses[0], "the memory that was sent, and not a copy")
        #expect(throws: ChannelPipelineError.self) {
            try channel.pipeline.syncOperations.handler(type: AuthorizationHandler.self)
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("The request with a proxy's password is wiped, too")
    func wipedForProxy() throws {
        let sink = Sink(isWritten: true)
        let proxy = try HTTPProxy("http://Aladdin:open%20sesame@p:1")
        let handler = ProxyConnectHandler(proxy: proxy, target: HostPort(host: "h", port: 443)) { _ in }
        let channel = EmbeddedChannel(handlers: [sink, handler])
        channel.pipeline.fireChannelActive()
        let field = "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"
        #expect(sink.texts == ["CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\(UserAgent.line)\(field)\r\n"])
        let request = try #require(handler.request)
        #expect(!request.bytes.readableBytesView.isEmpty && request.bytes.readableBytesView.allSatisfy { $0 == 0 })
        #expect(Sink.address(request.bytes) == sink.addresses[0])
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    /// The last outbound handler, which keeps a copy of the text and releases the buffer.
    private final class Sink: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private let isWritten: Bool
        private(set) var texts: [String] = []
        private(set) var addresses: [UInt] = []

        init(isWritten: Bool) { self.isWritten = isWritten }

        static func address(_ buffer: ByteBuffer) -> UInt {
            buffer.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            record(Self.unwrapOutboundIn(data))
            // Later, as a socket does: not while the sender still holds the buffer.
            context.eventLoop.assumeIsolated().execute { [isWritten] in
                if isWritten { promise?.succeed() } else { promise?.fail(ChannelError.ioOnClosedChannel) }
            }
        }

        func flush(context: ChannelHandlerContext) { (context.eventLoop as? EmbeddedEventLoop)?.run() }

        private func record(_ buffer: ByteBuffer) {
            texts.append(String(buffer: buffer))
            addresses.append(Self.address(buffer))
        }
    }
}
