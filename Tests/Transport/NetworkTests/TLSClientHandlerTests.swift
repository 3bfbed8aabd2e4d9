// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import NIOCore
import NIOEmbedded
import NIOSSL
import NIOTLS
import NetworkTestSupport
import TestSupport
import Testing

@testable import HybridNetwork

/// The client's handler against NIOSSL's server, with every byte in the test's hands.
@Suite("The client's TLS handler", .timeLimit(.minutes(5)))
struct TLSClientHandlerTests {
    private static let host = TestCertificates.domain?.host ?? ""

    /// A client and a server without a network.
    private final class Pair {
        let client = EmbeddedChannel()
        let server = EmbeddedChannel()
        /// Errors and events in the client's pipeline.
        let seen = Observer()
        let handler: TLSClientHandler

        final class Observer: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer

            var failures: [TLSFailure] = []
            var isEstablished = false
            var isInputClosed = false
            /// Failures that were reported before the end of the channel.
            var failuresAtEnd: [TLSFailure]?
            var received: [UInt8] = []
            /// Data to send as soon as the connection is established.
            var greeting: ByteBuffer?

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                received += Self.unwrapInboundIn(data).readableBytesView
            }

            func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
                if case TLSUserEvent.handshakeCompleted = event {
                    isEstablished = true
                    if let greeting { context.writeAndFlush(NIOAny(greeting), promise: nil) }
                }
                if let event = event as? ChannelEvent, event == .inputClosed { isInputClosed = true }
            }

            func channelInactive(context: ChannelHandlerContext) { failuresAtEnd = failuresAtEnd ?? failures }

            func errorCaught(context: ChannelHandlerContext, error: any Error) {
                if let failure = error as? TLSFailure { failures.append(failure) } else { Issue.record(error) }
            }
        }

        init(_ tls: ClientTLS, _ context: NIOSSLContext) throws {
            handler = tls.handler(for: TLSClientHandlerTests.host)
            try client.pipeline.syncOperations.addHandlers([handler, seen])
            try server.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            // Connecting makes the channels active.
            for channel in [client, server] {
                channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 443), promise: nil)
            }
        }

        /// Returns what one end has sent.
        static func output(of channel: EmbeddedChannel) throws -> [UInt8] {
            var bytes: [UInt8] = []
            while let part = try channel.readOutbound(as: ByteBuffer.self) { bytes += part.readableBytesView }
            return bytes
        }

        /// Passes bytes to the client; its errors are recorded in ``seen``.
        func deliver(_ bytes: [UInt8]) {
            _ = try? client.writeInbound(ByteBuffer(bytes: bytes))
        }

        /// Passes bytes both ways until there are none.
        func exchange() throws {
            while true {
                let (up, down) = (try Self.output(of: client), try Self.output(of: server))
                if up.isEmpty, down.isEmpty { return }
                // The server may already have failed, which the client is told.
                if !up.isEmpty { _ = try? server.writeInbound(ByteBuffer(bytes: up)) }
                if !down.isEmpty { deliver(down) }
            }
        }

        /// Returns the server's first flight.
        func firstFlight() throws -> [UInt8] {
            try server.writeInbound(ByteBuffer(bytes: try Self.output(of: client)))
            return try Self.output(of: server)
        }

        /// Writes and flushes, or closes, and returns the result, once there is one.
        func result(_ body: (EventLoopPromise<Void>) -> Void) -> () -> Result<Void, any Error>? {
            let promise = client.embeddedEventLoop.makePromise(of: Void.self)
            nonisolated(unsafe) var result: Result<Void, any Error>?
            promise.futureResult.whenComplete { result = $0 }
            body(promise)
            return { result }
        }

        func finish() {
            for channel in [client, server] {
                channel.close(promise: nil)
                // Longer than either waits for the other's close_notify.
                channel.embeddedEventLoop.advanceTime(by: .seconds(60))
            }
        }
    }

    private static func tls() async throws -> (ClientTLS, NIOSSLContext) {
        let anchors = try await TestCertificates.shared().authority
        return (try ClientTLS(trustedCertificates: anchors), try await TestCertificates.context(.relay))
    }

    @Test("Data that is written before the handshake arrives after it, in order, and answers come back")
    func order() async throws {
        let (tls, context) = try await Self.tls()
        let pair = try Pair(tls, context)
        pair.seen.greeting = ByteBuffer(bytes: [4])
        for byte in UInt8(1)...3 { pair.client.writeAndFlush(ByteBuffer(bytes: [byte]), promise: nil) }
        try pair.exchange()
        #expect(pair.seen.isEstablished && pair.handler.version == .tls13)
        var arrived: [UInt8] = []
        while let part = try pair.server.readInbound(as: ByteBuffer.self) { arrived += part.readableBytesView }
        #expect(arrived == [1, 2, 3, 4])
        let long = [UInt8](repeating: 9, count: 100_000)
        pair.server.writeAndFlush(ByteBuffer(bytes: long), promise: nil)
        try pair.exchange()
        #expect(pair.seen.received == long)
        pair.finish()
    }

    @Test("Too much data before the handshake ends the connection")
    func pendingLimit() async throws {
        let (tls, context) = try await Self.tls()
        let pair = try Pair(tls, context)
        let most = ByteBuffer(repeating: 0, count: TLSClientHandler.maximumPendingBytes)
        let first = pair.result { pair.client.writeAndFlush(most, promise: $0) }
        #expect(first() == nil)
        let second = pair.result { pair.client.writeAndFlush(ByteBuffer(bytes: [0]), promise: $0) }
        for result in [first, second] { #expect(throws: TLSFailure.self) { try result()?.get() } }
        #expect(pair.seen.failures.count == 1)
        #expect(!pair.client.isActive)
        pair.finish()
    }

    @Test("A handshake that is cut off anywhere fails as such")
    func truncated() async throws {
        let (tls, context) = try await Self.tls()
        let length = try Pair(tls, context).firstFlight().count
        for end in stride(from: 0, to: length - 1, by: Thoroughness.isFull ? 1 : 23) {
            for isHalfClosed in [false, true] {
                let pair = try Pair(tls, context)
                pair.client.write(ByteBuffer(bytes: [1]), promise: nil)
                let flight = try pair.firstFlight()
                pair.deliver(Array(flight.prefix(min(end, flight.count - 1))))
                if isHalfClosed {
                    pair.client.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
                } else {
                    pair.client.pipeline.fireChannelInactive()
                }
                #expect(pair.seen.failures == [.cutOff], "after \(end) bytes")
                #expect(!pair.seen.isEstablished && pair.seen.received == [])
                pair.finish()
            }
        }
    }

    @Test("A flipped bit in the server's first messages never leads to a connection")
    func flipsInHandshake() async throws {
        let (tls, context) = try await Self.tls()
        let length = try Pair(tls, context).firstFlight().count
        for index in stride(from: 0, to: length - 1, by: Thoroughness.isFull ? 1 : 11) {
            let pair = try Pair(tls, context)
            pair.client.writeAndFlush(ByteBuffer(bytes: [1]), promise: nil)
            var flight = try pair.firstFlight()
            guard index < flight.count else { continue }
            flight[index] ^= 1 << UInt8(index % 8)
            pair.deliver(flight)
            // With a longer length, the record is never complete.
            if pair.seen.failures.isEmpty { pair.client.pipeline.fireChannelInactive() }
            #expect(pair.seen.failures.count == 1, "byte \(index)")
            #expect(!pair.seen.isEstablished && pair.seen.received == [], "byte \(index)")
            pair.finish()
        }
    }

    @Test("A flipped bit in data ends the connection, and nothing of the record is passed on")
    func flipsInData() async throws {
        let (tls, context) = try await Self.tls()
        for index in 0..<30 {
            let pair = try Pair(tls, context)
            try pair.exchange()
            #expect(pair.seen.isEstablished)
            pair.server.writeAndFlush(ByteBuffer(bytes: [1, 2, 3, 4]), promise: nil)
            var record = try Pair.output(of: pair.server)
            guard index < record.count else { break }
            record[index] ^= 1 << UInt8(index % 8)
            pair.deliver(record)
            if pair.seen.failures.isEmpty { pair.client.pipeline.fireChannelInactive() }
            #expect(pair.seen.failures.count == 1 && pair.seen.received == [], "byte \(index)")
            pair.finish()
        }
    }

    @Test("Bytes may arrive one by one")
    func trickle() async throws {
        let (tls, context) = try await Self.tls()
        let pair = try Pair(tls, context)
        for byte in try pair.firstFlight() { pair.deliver([byte]) }
        #expect(pair.seen.isEstablished)
        try pair.exchange()
        pair.server.writeAndFlush(ByteBuffer(string: "data"), promise: nil)
        for byte in try Pair.output(of: pair.server) { pair.deliver([byte]) }
        #expect(pair.seen.received == Array("data".utf8))
        pair.finish()
    }

    /// Records the memory of a buffer on its way to TLS.
    private final class Witness: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private(set) var address: UInt?

        static func address(_ buffer: ByteBuffer) -> UInt {
            buffer.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            address = Self.address(Self.unwrapOutboundIn(data))
            context.write(data, promise: promise)
        }
    }

    @Test("A request with a token that waits for the handshake is wiped, sent or not", arguments: [true, false])
    func wiped(isSent: Bool) async throws {
        let (tls, context) = try await Self.tls()
        let pair = try Pair(tls, context)
        let (witness, handler) = (Witness(), AuthorizationHandler(try #require(BearerToken("hunter2".utf8))))
        try pair.client.pipeline.syncOperations.addHandlers([witness, handler])
        // Separately, because the handler that adds the token leaves the pipeline in between.
        pair.client.write(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: h\r\n\r\n"), promise: nil)
        pair.client.flush()
        let request = try #require(handler.request)
        #expect(request.bytes.readableBytesView.contains { $0 != 0 })
        if isSent {
            try pair.exchange()
            let arrived = try pair.server.readInbound(as: ByteBuffer.self)
            #expect(arrived.map(String.init(buffer:))?.contains("hunter2") == true)
        } else {
            pair.client.close(promise: nil)
        }
        pair.client.embeddedEventLoop.run()
        #expect(request.bytes.readableBytesView.allSatisfy { $0 == 0 })
        #expect(Witness.address(request.bytes) == witness.address, "the memory that waited, and not a copy")
        pair.finish()
    }

    // MARK: Ends

    /// A transport that ends when data is sent.
    private final class Breaker: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func flush(context: ChannelHandlerContext) { context.fireChannelInactive() }
    }

    @Test("A connection that ends while the last message of the handshake is sent does not count as established")
    func endsInHandshake() async throws {
        let (tls, context) = try await Self.tls()
        let pair = try Pair(tls, context)
        let flight = try pair.firstFlight()
        try pair.client.pipeline.syncOperations.addHandler(Breaker(), position: .first)
        pair.deliver(flight)
        #expect(pair.seen.failures == [.cutOff] && !pair.seen.isEstablished)
        pair.finish()
    }

    @Test("A connection that ends while an alert is sent fails for the reason of the alert")
    func endsInAlert() async throws {
        let (tls, context) = try await Self.tls()
        let pair = try Pair(tls, context)
        _ = try pair.firstFlight()
        try pair.client.pipeline.syncOperations.addHandler(Breaker(), position: .first)
        // A record of a version that does not exist.
        pair.deliver([0x16, 0x09, 0x09, 0x00, 0x01, 0x00])
        #expect(pair.seen.failures.count == 1 && pair.seen.failures != [.cutOff])
        #expect(pair.seen.failuresAtEnd == pair.seen.failures)
        pair.finish()
    }

    @Test("An end without close_notify is reported, one with it is not", arguments: [true, false])
    func serverEnds(announces: Bool) async throws {
        let (tls, context) = try await Self.tls()
        let pair = try Pair(tls, context)
        try pair.exchange()
        if announces {
            pair.server.close(promise: nil)
            try pair.exchange()
            #expect(!pair.client.isActive)
        }
        pair.client.pipeline.fireChannelInactive()
        #expect(pair.seen.failures == (announces ? [] : [.unannouncedEnd]))
        pair.finish()
    }

    @Test(
        "With half-closure, the end of the input is passed on once, and data can still be sent",
        arguments: [true, false]
    )
    func halfClosure(announces: Bool) async throws {
        let (tls, context) = try await Self.tls()
        let pair = try Pair(tls, context)
        pair.client.allowRemoteHalfClosure = true
        try pair.exchange()
        if announces {
            pair.server.close(promise: nil)
            pair.deliver(try Pair.output(of: pair.server))
            #expect(pair.seen.isInputClosed)
            pair.seen.isInputClosed = false
        }
        pair.client.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(pair.seen.isInputClosed == !announces)
        #expect(pair.seen.failures == (announces ? [] : [.unannouncedEnd]))
        #expect(pair.client.isActive)
        pair.client.writeAndFlush(ByteBuffer(string: "late"), promise: nil)
        #expect(try !Pair.output(of: pair.client).isEmpty)
        // Nothing more can come, so the close does not wait.
        try #require(pair.result { pair.client.close(promise: $0) }()).get()
        pair.finish()
    }

    @Test("A close waits for the server's close_notify, but at most 250 ms", arguments: [true, false])
    func closing(isAnswered: Bool) async throws {
        let (tls, context) = try await Self.tls()
        let pair = try Pair(tls, context)
        try pair.exchange()
        let closed = (0..<2).map { _ in pair.result { pair.client.close(promise: $0) } }
        #expect(pair.client.isActive)
        if isAnswered {
            try pair.exchange()
        } else {
            pair.client.embeddedEventLoop.advanceTime(by: .milliseconds(249))
            #expect(pair.client.isActive)
            pair.client.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        }
        for result in closed { try #require(result()).get() }
        #expect(pair.seen.failures == [])
        pair.finish()
    }

    @Test("A close during the handshake is immediate, and unsent data fails")
    func closingEarly() async throws {
        let (tls, context) = try await Self.tls()
        let pair = try Pair(tls, context)
        let written = pair.result { pair.client.writeAndFlush(ByteBuffer(bytes: [1]), promise: $0) }
        try #require(pair.result { pair.client.close(promise: $0) }()).get()
        #expect(throws: ChannelError.ioOnClosedChannel) { try written()?.get() }
        #expect(pair.seen.failures == [])
        pair.finish()
    }

    // MARK: Trust

    @Test("A certificate that BoringSSL cannot parse is skipped, and named; the others of the bundle are trusted")
    func unusableAuthority() async throws {
        try await TestFolder.with { folder in
            let certificates = try await TestCertificates.shared()
            // Version 1 with extensions, as some private authorities have.
            let lines = TestFile.text(certificates.path("unknown.pem")).split(separator: "\n").filter {
                !$0.contains("-")
            }
            var der = try #require(Data(base64Encoded: lines.joined()))
            let version = try #require(der.firstRange(of: Data([0xA0, 3, 2, 1, 2])))
            der[version.upperBound - 1] = 0
            let damaged = "-----BEGIN CERTIFICATE-----\n\(der.base64EncodedString())\n-----END CERTIFICATE-----\n"
            let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END OTHER-----\n"
            let trusted = TestFile.text(certificates.authority)
            let bundle = try folder.write("A list\n" + damaged + cut + trusted + damaged, to: "bundle.crt")
            let unusable = try #require(SystemAnchors.unusable(bundles: [bundle]))
            #expect(unusable.file == bundle && unusable.entries.map(\.name) == ["unknown", nil, "unknown"])
            #expect(unusable.entries.map(\.number) == [1, 2, 4])
            let starts = TestFile.text(bundle).split(separator: "\n").enumerated().filter {
                $0.element.hasPrefix("-----BEGIN")
            }
            #expect(unusable.entries.map(\.line) == [0, 1, 3].map { starts[$0].offset + 1 })
            #expect(SystemAnchors.unusable(bundles: ["/nonexistent"]) == nil)
            // A block without an end costs only itself; an empty one, bad digits and a cut one are named, too.
            let begin = "-----BEGIN CERTIFICATE-----\n"
            let empty = begin + "-----END CERTIFICATE-----\n"
            let digits = begin + "!!!!\n-----END CERTIFICATE-----\n"
            let all = [begin + "AAAA\n", trusted, empty, digits, String(trusted.prefix(200))]
            let list = try folder.write(all.joined(), to: "list.crt")
            #expect(SystemAnchors.unusable(bundles: [list])?.entries.map(\.number) == [1, 3, 4, 5])
            let complete = try folder.write("\u{FEFF}" + trusted + "\u{FEFF}" + trusted, to: "complete.crt")
            #expect(SystemAnchors.unusable(bundles: [complete]) == nil)

            let server = try await OpenSSLServer(.relay, [], in: folder)
            let tls = try ClientTLS(system: SystemAnchors(bundles: [bundle], folders: [folder.path]))
            let client = try await TLSTestClient(to: server.port, tls, sessions: nil, request: "request\n")
            try await server.wait(for: "request\n")
            await client.close()

            let useless = try folder.write(damaged, to: "useless.crt")
            #expect(throws: NetworkError.trustAnchorsUnusable("the system's list")) {
                try ClientTLS(system: SystemAnchors(bundles: [useless], folders: []))
            }
        }
    }

    @Test("A folder with hashed names replaces the bundle if it has as many certificates", arguments: [true, false])
    func hashedFolder(isComplete: Bool) async throws {
        try await TestFolder.with { folder in
            let certificates = try await TestCertificates.shared()
            let trusted = TestFile.text(certificates.authority)
            let bundle = try folder.write(trusted + TestFile.text(certificates.path("unknown.pem")), to: "bundle.crt")
            try folder.write(trusted, to: "hashed/trusted.pem")
            if isComplete {
                try folder.write(TestFile.text(certificates.path("unknown.pem")), to: "hashed/unknown.pem")
            }
            let hashed = folder.path + "/hashed"
            let status = try await SpawnedProcess(["openssl", "rehash", hashed]).end()
            #expect(status == 0)
            let anchors = SystemAnchors(bundles: ["/nonexistent", bundle], folders: ["/nonexistent", hashed])
            #expect(anchors.folder == hashed)
            #expect(anchors.bundle == (isComplete ? nil : bundle))
            for identity in [TestCertificates.Identity.relay, .unknownAuthority, .namesakeAuthority] {
                let server = try await OpenSSLServer(identity, [], in: folder)
                let tls = try ClientTLS(system: anchors)
                let client = try await TLSTestClient(to: server.port, tls, sessions: nil, request: "request\n")
                if identity == .namesakeAuthority {
                    await client.waitForEnd()
                    #expect(client.failure == .certificateNotTrusted)
                } else {
                    try await server.wait(for: "request\n")
                }
                await client.close()
            }
        }
    }
}
