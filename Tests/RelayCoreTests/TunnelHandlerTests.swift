// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import HybridRelayCore

@Suite("Backpressure in a tunnel")
struct TunnelHandlerTests {
    /// Counts the reads of the socket.
    private final class ReadCounter: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        var reads = 0
        func read(context: ChannelHandlerContext) {
            reads += 1
            context.read()
        }
    }

    private struct End {
        let channel: EmbeddedChannel
        let counter: ReadCounter

        /// Requests a read and returns true if it reaches the socket.
        func isRead() -> Bool {
            let before = counter.reads
            channel.read()
            return counter.reads > before
        }

        func receive(_ bytes: [UInt8]) throws { try channel.writeInbound(ByteBuffer(bytes: bytes)) }

        func written() throws -> [UInt8] {
            var bytes: [UInt8] = []
            while let buffer = try channel.readOutbound(as: ByteBuffer.self) { bytes += buffer.readableBytesView }
            return bytes
        }
    }

    private final class Relay {
        let loop = EmbeddedEventLoop()
        let registry: TunnelRegistry
        let admission: AdmissionControl
        let timers: ConnectionTimers
        var limits = RelayLimits()

        init(bufferedBytes: Int = 256 << 20) {
            limits.tunnelBytes = 1 << 30
            limits.bufferedBytes = bufferedBytes
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            registry = TunnelRegistry(node: 0, limits: limits, logger: logger)
            admission = AdmissionControl(limits: limits, logger: logger)
            timers = ConnectionTimers(registry: registry, admission: admission, eventLoop: loop)
        }

        func end() throws -> End {
            let counter = ReadCounter()
            let handler = TunnelHandler(registry: registry, admission: admission, limits: limits, timers: timers)
            let channel = EmbeddedChannel(handlers: [counter, handler], loop: loop)
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
            return End(channel: channel, counter: counter)
        }

        func phone() throws -> (End, routing: String) {
            let phone = try end()
            try phone.receive(UpgradeRequestTests.head())
            let head = String(decoding: try phone.written(), as: UTF8.self)
            let field = try #require(head.firstRange(of: "X-caBLE-Routing-ID: "))
            return (phone, String(head[field.upperBound...].prefix(6)))
        }

        func client(_ routing: String) throws -> End {
            let client = try end()
            let line = "GET /cable/connect/\(routing)/\(UpgradeRequestTests.tunnel) HTTP/1.1"
            try client.receive(UpgradeRequestTests.head(["GET": line]))
            return client
        }
    }

    private let message = Wire.frame([UInt8](repeating: 1, count: 20_000))

    @Test("pauses a waiting phone after 64 KiB, and resumes when its client joins")
    func early() throws {
        let relay = Relay()
        let (phone, routing) = try relay.phone()
        for _ in 0..<3 {
            try phone.receive(message)
            #expect(phone.isRead())
        }
        try phone.receive(message)
        #expect(!phone.isRead())
        let before = phone.counter.reads
        let client = try relay.client(routing)
        #expect(phone.counter.reads == before + 1)
        #expect(phone.isRead())
        let wire = try client.written()
        let head = try #require(wire.firstRange(of: Array("\r\n\r\n".utf8)))
        #expect(
            Wire.takeAll(from: Array(wire[head.upperBound...])).map(\.payload.count) == [
                20_000, 20_000, 20_000, 20_000,
            ]
        )
    }

    @Test("pauses an end while its peer's socket is full")
    func paired() throws {
        let relay = Relay()
        let (phone, routing) = try relay.phone()
        let client = try relay.client(routing)
        for _ in 0..<100 {
            try phone.receive(message)
            #expect(phone.isRead())
        }
        client.channel.isWritable = false
        var sent = 0
        while phone.isRead(), sent < 100 {
            try phone.receive(message)
            sent += 1
        }
        #expect((4...9).contains(sent))
        #expect(client.isRead())
        let before = phone.counter.reads
        client.channel.isWritable = true
        client.channel.pipeline.fireChannelWritabilityChanged()
        #expect(phone.counter.reads == before + 1)
        #expect(phone.isRead())
    }

    @Test("limits each tunnel to one read while the total budget is exhausted")
    func budget() throws {
        let relay = Relay(bufferedBytes: 30_000)
        let pairs = try (0..<2).map { _ in
            let (phone, routing) = try relay.phone()
            let client = try relay.client(routing)
            client.channel.isWritable = false
            return (phone, client)
        }
        let (first, second) = (pairs[0], pairs[1])
        try first.0.receive(message)
        #expect(first.0.isRead(), "the budget is not exhausted")
        try first.0.receive(message)
        #expect(!first.0.isRead(), "below its own window, but the budget is exhausted")
        #expect(second.0.isRead(), "it has no bytes in flight")
        try second.0.receive(message)
        #expect(!second.0.isRead())
        #expect(relay.registry.budget.bytes > 60_000)
        first.1.channel.isWritable = true
        first.1.channel.pipeline.fireChannelWritabilityChanged()
        #expect(first.0.isRead())
        #expect(relay.registry.budget.bytes < 30_000)
        let before = second.0.counter.reads
        relay.timers.sweep()
        #expect(second.0.counter.reads == before + 1, "a sweep resumes reading when another tunnel has released budget")
        for pair in pairs {
            try pair.0.channel.close().wait()
            _ = try? pair.1.channel.finish()
        }
        #expect(relay.registry.budget.bytes == 0)
    }

    @Test("buffered bytes count once until they are released, whichever end leaves first")
    func leftBehind() throws {
        let relay = Relay()
        let (phone, routing) = try relay.phone()
        let client = try relay.client(routing)
        client.channel.isWritable = false
        try phone.receive(message)
        #expect(relay.registry.budget.bytes > 20_000)
        try phone.channel.close().wait()
        _ = try? client.channel.finish()
        #expect(relay.registry.budget.bytes == 0)
        let (early, _) = try relay.phone()
        try early.receive(message)
        #expect(relay.registry.budget.bytes > 0)
        try early.channel.close().wait()
        #expect(relay.registry.budget.bytes == 0)
    }

    @Test("answers ten pings per sweep, and then the latest of the others")
    func pongRate() throws {
        let relay = Relay()
        let (phone, _) = try relay.phone()
        for number in 0..<UInt8(50) { try phone.receive(Wire.frame([number], opcode: Wire.ping)) }
        #expect(Wire.takeAll(from: try phone.written()).map(\.payload) == (0..<10).map { [$0] })
        relay.timers.sweep()
        #expect(Wire.takeAll(from: try phone.written()).map(\.payload) == [[49]])
    }

    @Test("answers only the latest ping of an end that does not read")
    func pongs() throws {
        let relay = Relay()
        let (phone, _) = try relay.phone()
        phone.channel.isWritable = false
        for number in 0..<UInt8(50) { try phone.receive(Wire.frame([number], opcode: Wire.ping)) }
        #expect(try phone.written().isEmpty)
        phone.channel.isWritable = true
        phone.channel.pipeline.fireChannelWritabilityChanged()
        #expect(Wire.takeAll(from: try phone.written()) == [.init(opcode: Wire.pong, final: true, payload: [49])])
    }

    @Test("resumes reading a paused phone after its tunnel has ended")
    func pausedThenOver() throws {
        let relay = Relay()
        let (phone, routing) = try relay.phone()
        for _ in 0..<4 { try phone.receive(message) }
        #expect(!phone.isRead())
        let before = phone.counter.reads
        let bytes = try #require(RoutingID(hex: routing))
        let tunnel = try #require(TunnelID(hex: UpgradeRequestTests.tunnel))
        relay.registry.end(TunnelKey(routing: bytes, tunnel: tunnel), .unclaimed)
        #expect(phone.counter.reads == before + 1)
        #expect(Wire.takeAll(from: try phone.written()).map(\.closeCode) == [1008])
    }
}
