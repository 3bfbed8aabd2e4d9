// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCaBLE
import TestSupport
import Testing

@testable import HybridDataChannel

/// A socket that keeps packets apart, as the radio's do, in the hands of a test.
private final class PacketEnd: Sendable {
    let socket: CInt

    init(_ socket: CInt) { self.socket = socket }

    deinit { close(socket) }

    /// Two that are connected: one for a channel, the other for the test.
    static func pair() throws -> (channel: CInt, test: PacketEnd) {
        var pair: [CInt] = [-1, -1]
        let kind = CInt(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &pair) == 0)
        return (pair[0], PacketEnd(pair[1]))
    }

    /// Whether the kernel took the packet.
    func offer(_ packet: [UInt8]) -> Bool {
        send(socket, packet, packet.count, CInt(MSG_NOSIGNAL)) == packet.count
    }

    func send(_ packet: [UInt8]) async throws {
        try await Waiting.until("there is room for a packet") { offer(packet) }
    }

    private func send(_ socket: CInt, _ bytes: [UInt8], _ count: Int, _ flags: CInt) -> Int {
        Glibc.send(socket, bytes, count, flags)
    }

    /// The next packet; `nil` at the end.
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
    private static let mark: [UInt8] = [0x0D, 0x0A]

    private static func open(largestPacket: Int = 1000) throws -> (L2CAPChannel, PacketEnd) {
        let (socket, test) = try PacketEnd.pair()
        return (L2CAPChannel(adopting: socket, largestPacket: largestPacket), test)
    }

    private static func receive(_ channel: L2CAPChannel, _ expected: [UInt8]) async throws -> [UInt8] {
        try await channel.receive { $0.bytes == expected ? $0.bytes : nil }
    }

    @Test("A message leaves with its mark, in as few packets as the other side takes", arguments: [16, 23, 1000])
    func fewPackets(largest: Int) async throws {
        let (channel, test) = try Self.open(largestPacket: largest)
        var random = SeededGenerator()
        for length in [1, largest - 2, largest - 1, largest, 3 * largest, 2500] {
            let message = random.bytes(length)
            async let sending: Void = channel.send(WireMessage(bytes: message))
            var packets: [[UInt8]] = []
            while packets.joined().count < length + 2 { packets.append(try #require(try await test.next())) }
            try await sending
            #expect(Array(packets.joined()) == message + Self.mark)
            #expect(packets.count == (length + 2 + largest - 1) / largest)
            #expect(packets.allSatisfy { $0.count <= largest })
        }
        await channel.close()
    }

    @Test("Two channels understand each other, also with the longest message")
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

    @Test("Packets of 16 bytes, glued messages and missing marks are understood")
    func tolerance() async throws {
        let (channel, test) = try Self.open()
        var random = SeededGenerator()
        let message = random.bytes(40) + Self.mark + random.bytes(41)
        for start in stride(from: 0, to: 85, by: 16) {
            try await test.send(Array((message + Self.mark)[start..<min(start + 16, 85)]))
        }
        #expect(try await Self.receive(channel, message) == message)
        let (first, second) = (random.bytes(81), random.bytes(90))
        try await test.send(first + Self.mark + second + Self.mark)
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

    @Test("The end between messages is a closeTimeout, in the midst of one it is none")
    func ends() async throws {
        for (last, error) in [([], TunnelError.closed(code: 1000)), ([1, 2, 3], .connectionLost)]
            as [([UInt8], TunnelError)]
        {
            let (channel, test) = try Self.open()
            try await test.send([7] + Self.mark)
            if !last.isEmpty { try await test.send(last) }
            test.shutDown()
            #expect(try await Self.receive(channel, [7]) == [7])
            await #expect(throws: error) { try await Self.receive(channel, [9]) }
            await #expect(throws: error) { try await Self.receive(channel, [9]) }
        }
    }

    @Test("Who waits for a message notices the end, and the task's cancellation")
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

    @Test("Who does not read holds the sender back, and hears everything later")
    func backpressure() async throws {
        let (channel, test) = try Self.open()
        // Nobody receives: the kernel's queue fills behind the few packets that the channel takes.
        var sent = 0
        let packet = [UInt8](repeating: 0x61, count: 998) + Self.mark
        var refusals = 0
        while refusals < 50 {
            if test.offer(packet) { sent += 1 } else { refusals += 1 }
            try #require(sent < 2000, "somebody takes whatever comes")
            if refusals > 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
        for _ in 0..<sent {
            #expect(try await channel.receive { $0.bytes.count == 998 ? true : nil })
        }
        // The other way: a message larger than every buffer waits for its reader.
        let message = [UInt8](repeating: 0x62, count: 1 << 20)
        let sending = Task { try await channel.send(WireMessage(bytes: message)) }
        var received = 0
        while received < message.count + 2 { received += try #require(try await test.next()).count }
        try await sending.value
        // And one whose reader never comes is given up with its task.
        let lonely = Task { try await channel.send(WireMessage(bytes: message)) }
        lonely.cancel()
        await #expect(throws: CancellationError.self) { try await lonely.value }
        await channel.close()
    }

    @Test("A flood of what nobody can open ends the channel", arguments: [true, false])
    func floods(marks: Bool) async throws {
        let (channel, test) = try Self.open()
        let packet = marks ? (0..<1000).flatMap { _ in Self.mark } : [UInt8](repeating: 0x61, count: 2000)
        let flood = Task {
            // Until nobody is there any more.
            while !Task.isCancelled {
                if !test.offer(packet), errno != EAGAIN { return }
                await Task.yield()
            }
        }
        await #expect(throws: TunnelError.messageRefused) { try await channel.receive { _ in Bool?.none } }
        await flood.value
    }

    @Test("What was sent arrives although the channel is closed at once, and the socket is closed")
    func closeTimeout() async throws {
        let (channel, test) = try Self.open()
        try await channel.send(WireMessage(bytes: [1, 2, 3]))
        await channel.close()
        #expect(try await test.next() == [1, 2, 3] + Self.mark)
        #expect(try await test.next() == nil)
        await #expect(throws: TunnelError.closed(code: 1000)) { try await channel.send(WireMessage(bytes: [1])) }
    }

    @Test("A channel that everybody forgot closes its socket")
    func forgotten() async throws {
        let (_, test) = try Self.open()
        #expect(try await test.next() == nil)
    }
}
