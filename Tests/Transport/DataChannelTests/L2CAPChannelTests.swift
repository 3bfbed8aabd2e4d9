// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCaBLE
import NetworkTestSupport
import TestSupport
import Testing

@testable import HybridDataChannel

/// A socket that preserves packet boundaries, as those of the radio do.
private final class PacketEnd: Sendable {
    let socket: CInt

    init(_ socket: CInt) { self.socket = socket }

    deinit { close(socket) }

    /// Returns two connected sockets: one for a channel, the other for the test.
    static func pair() throws -> (channel: CInt, test: PacketEnd) {
        var pair: [CInt] = [-1, -1]
        let kind = CInt(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &pair) == 0)
        return (pair[0], PacketEnd(pair[1]))
    }

    /// Returns true if the kernel took the packet.
    func offer(_ packet: [UInt8]) -> Bool {
        send(socket, packet, packet.count, CInt(MSG_NOSIGNAL)) == packet.count
    }

    func send(_ packet: [UInt8]) async throws {
        try await Waiting.until("there is room for a packet") { offer(packet) }
    }

    private func send(_ socket: CInt, _ bytes: [UInt8], _ count: Int, _ flags: CInt) -> Int {
        Glibc.send(socket, bytes, count, flags)
    }

    /// Waits for the next packet; returns `nil` at the end.
    func next() async throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 70_000)
        var count = -1
        try await Waiting.until("a packet comes") {
            count = recv(socket, &buffer, buffer.count, 0)
            return count >= 0 || errno != EAGAIN
        }
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    func shutDown() { shutdown(socket, CInt(SHUT_RDWR)) }
}

@Suite("A message channel over packets", .timeLimit(.minutes(5)))
struct L2CAPChannelTests {
    private static let delimiter: [UInt8] = [0x0D, 0x0A]

    private static func open(largestPacket: Int = 1000) throws -> (L2CAPChannel, PacketEnd) {
        let (socket, test) = try PacketEnd.pair()
        return (L2CAPChannel(adopting: socket, largestPacket: largestPacket), test)
    }

    private static func receive(_ channel: L2CAPChannel, _ expected: [UInt8]) async throws -> [UInt8] {
        try await channel.receive { $0.bytes == expected ? $0.bytes : nil }
    }

    @Test("A message is sent with its delimiter in as few packets as possible", arguments: [16, 23, 1000])
    func fewPackets(largest: Int) async throws {
        let (channel, test) = try Self.open(largestPacket: largest)
        var random = SeededGenerator()
        for length in [1, largest - 2, largest - 1, largest, 3 * largest, 2500] {
            let message = random.bytes(length)
            async let sending: Void = channel.send(WireMessage(bytes: message))
            var packets: [[UInt8]] = []
            while packets.joined().count < length + 2 { packets.append(try #require(try await test.next())) }
            try await sending
            #expect(Array(packets.joined()) == message + Self.delimiter)
            #expect(packets.count == (length + 2 + largest - 1) / largest)
            #expect(packets.allSatisfy { $0.count <= largest })
        }
        await channel.close()
    }

    @Test("Two channels exchange messages, up to the longest")
    func bothWays() async throws {
        let (socket, test) = try PacketEnd.pair()
        let left = L2CAPChannel(adopting: socket, largestPacket: 4096)
        let right = L2CAPChannel(adopting: dup(test.socket), largestPacket: 672)
        var random = SeededGenerator()
        for length in [1, 81, 4094, 4095, 100_000, Limits.messageBytes] {
            let (there, back) = (random.bytes(length), random.bytes(length))
            async let sendingThere: Void = left.send(WireMessage(bytes: there))
            async let sendingBack: Void = right.send(WireMessage(bytes: back))
            #expect(try await Self.receive(right, there) == there, "\(random)")
            #expect(try await Self.receive(left, back) == back, "\(random)")
            _ = try await (sendingThere, sendingBack)
        }
        await left.close()
        await #expect(throws: TunnelError.closed(code: 1000)) { try await right.receive { $0 } }
        await right.close()
    }

    @Test("Packets of 16 bytes, joined messages and missing delimiters are accepted")
    func tolerance() async throws {
        let (channel, test) = try Self.open()
        var random = SeededGenerator()
        let message = random.bytes(40) + Self.delimiter + random.bytes(41)
        for start in stride(from: 0, to: 85, by: 16) {
            try await test.send(Array((message + Self.delimiter)[start..<min(start + 16, 85)]))
        }
        #expect(try await Self.receive(channel, message) == message)
        let (first, second) = (random.bytes(81), random.bytes(90))
        try await test.send(first + Self.delimiter + second + Self.delimiter)
        #expect(try await Self.receive(channel, first) == first)
        #expect(try await Self.receive(channel, second) == second)
        try await test.send(first)
        #expect(try await Self.receive(channel, first) == first)
        try await test.send(Array(second[..<50]))
        try await test.send(Array(second[50...]))
        test.shutDown()
        #expect(try await Self.receive(channel, second) == second)
        await #expect(throws: TunnelError.closed(code: 1000)) { try await channel.receive { $0 } }
    }

    @Test("An end between messages is a close, an end within one is a lost connection")
    func ends() async throws {
        for (last, error) in [([], TunnelError.closed(code: 1000)), ([1, 2, 3], .connectionLost)]
            as [([UInt8], TunnelError)]
        {
            let (channel, test) = try Self.open()
            try await test.send([7] + Self.delimiter)
            if !last.isEmpty { try await test.send(last) }
            test.shutDown()
            #expect(try await Self.receive(channel, [7]) == [7])
            await #expect(throws: error) { try await Self.receive(channel, [9]) }
            await #expect(throws: error) { try await Self.receive(channel, [9]) }
        }
    }

    @Test("A waiting receiver notices the end and cancellation")
    func waiting() async throws {
        let (channel, test) = try Self.open()
        let cancelled = Task { try await channel.receive { $0 } }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        async let waiting = channel.receive { $0 }
        test.shutDown()
        do {
            _ = try await waiting
            Issue.record("nothing came")
        } catch {
            #expect(error as? TunnelError == .closed(code: 1000))
        }
        await #expect(throws: TunnelError.closed(code: 1000)) { try await channel.send(WireMessage(bytes: [1])) }
    }

    @Test("Unread packets hold the sender back, and none is lost")
    func backpressure() async throws {
        let (channel, test) = try Self.open()
        // Without a receiver, the kernel's queue fills behind the few packets that the channel buffers.
        var sent = 0
        let packet = [UInt8](repeating: 0x61, count: 998) + Self.delimiter
        var refusals = 0
        while refusals < 50 {
            if test.offer(packet) { sent += 1 } else { refusals += 1 }
            try #require(sent < 2000, "the channel buffers without limit")
            if refusals > 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
        for _ in 0..<sent {
            #expect(try await channel.receive { $0.bytes.count == 998 ? true : nil })
        }
        // In the other direction, a message larger than all buffers waits for its reader.
        let message = [UInt8](repeating: 0x62, count: 1 << 20)
        let sending = Task { try await channel.send(WireMessage(bytes: message)) }
        var received = 0
        while received < message.count + 2 { received += try #require(try await test.next()).count }
        try await sending.value
        // Without a reader, the send ends with its task.
        let unread = Task { try await channel.send(WireMessage(bytes: message)) }
        unread.cancel()
        await #expect(throws: CancellationError.self) { try await unread.value }
        await channel.close()
    }

    @Test("A flood of rejected bytes ends the channel", arguments: [true, false])
    func floods(ofDelimiters: Bool) async throws {
        let (channel, test) = try Self.open()
        let packet = ofDelimiters ? (0..<1000).flatMap { _ in Self.delimiter } : [UInt8](repeating: 0x61, count: 2000)
        let flood = Task {
            // Until the channel has closed.
            while !Task.isCancelled {
                if !test.offer(packet), errno != EAGAIN { return }
                await Task.yield()
            }
        }
        await #expect(throws: TunnelError.messageRefused) { try await channel.receive { _ in Bool?.none } }
        await flood.value
    }

    @Test("Sent packets arrive even if the channel is closed at once")
    func closing() async throws {
        let (channel, test) = try Self.open()
        try await channel.send(WireMessage(bytes: [1, 2, 3]))
        await channel.close()
        #expect(try await test.next() == [1, 2, 3] + Self.delimiter)
        #expect(try await test.next() == nil)
        await #expect(throws: TunnelError.closed(code: 1000)) { try await channel.send(WireMessage(bytes: [1])) }
    }

    @Test("A released channel closes its socket")
    func released() async throws {
        let (_, test) = try Self.open()
        #expect(try await test.next() == nil)
    }
}
