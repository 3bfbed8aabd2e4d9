// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCaBLE
import HybridPrimitives
import HybridRelayCore
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Testing

@testable import HybridDataChannel

@Suite("A relay's token", .timeLimit(.minutes(5)))
struct BearerTokenTests {
    private typealias BearerToken = HybridDataChannel.BearerToken

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

    @Test("No value that contains a token shows it")
    func hidden() async throws {
        let token = try #require(BearerToken("hunter2".utf8))
        let endpoint = try await ScriptedRelay.endpoint(port: 1)
        let opening = TunnelOpening(relay: endpoint, path: .new(.test), bearerToken: token)
        let upgrade = WebSocketUpgrade(host: "h", displayName: "h", uri: "/", path: .new(.test), bearerToken: token)
        for holder in [token, [token], Optional(token) as Any, opening, upgrade, AuthorizationHandler(token)] {
            var dumped = ""
            dump(holder, to: &dumped)
            for text in [String(describing: holder), String(reflecting: holder), dumped, "\(holder)"] {
                #expect(!text.contains("hunter2") && !text.contains("104, 117, 110"), "\(text)")
            }
        }
        #expect(Mirror(reflecting: token).children.isEmpty)
    }

    @Test("No log line contains the token, even at trace level")
    func logged() async throws {
        let word = "Very-Secret_1~"
        let hash = SHA256.hash(data: Array(word.utf8)).map { String(format: "%02x", $0) }.joined()
        let log = Log()
        var logger = Logger(label: "test") { _ in log }
        logger.logLevel = .trace
        let token = try #require(BearerToken(word.utf8))
        logger.trace("asks with \(token)", metadata: ["token": "\(token)", "more": .stringConvertible(token)])
        try await RealRelayTests.relay(tokens: TunnelTokens(parsing: Array("phone \(hash)\n".utf8)), logger: logger) {
            #expect(await Client.refusal(at: $0) != nil)
            let routing = try await WebSocketTunnel.withTunnel(Client.tunnel, at: $0, bearerToken: token) {
                $0.routingID
            }
            #expect(routing != nil)
        }
        #expect(log.lines.contains { $0.contains("asks with BearerToken(hidden)") })
        #expect(log.lines.count > 1)
        #expect(!log.lines.contains { $0.contains("Secret") }, "\(log.lines)")
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
        #expect(sink.texts == ["CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\(field)\r\n"])
        let request = try #require(handler.request)
        #expect(!request.bytes.readableBytesView.isEmpty && request.bytes.readableBytesView.allSatisfy { $0 == 0 })
        #expect(Sink.address(request.bytes) == sink.addresses[0])
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    // MARK: Helpers

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

    /// Records all log lines.
    private final class Log: LogHandler {
        private let kept = NIOLockedValueBox<[String]>([])

        var lines: [String] { kept.withLockedValue { $0 } }
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .trace }
            set {}
        }

        subscript(metadataKey _: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }

        func log(event: LogEvent) {
            kept.withLockedValue { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }
}
