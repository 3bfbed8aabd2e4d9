// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NIOCore
import Testing

@testable import HybridRelayCore

@Suite("Backpressure in a tunnel")
struct BackpressureTests {
    /// Size of the kernel's buffer for what the relay sends, in bytes; the kernel doubles it.
    private static let small: CInt = 8 << 10
    /// Maximum length of one read of a socket, in bytes.
    private static let read = 64 << 10

    private let message = Wire.frame([UInt8](repeating: 1, count: 20_000))

    private func relay(bufferedBytes: Int = 256 << 20) throws -> HandDrivenRelay {
        try HandDrivenRelay {
            $0.tunnelBytes = 1 << 30
            $0.bufferedBytes = bufferedBytes
        }
    }

    private func messages(_ count: Int) -> [UInt8] { (0..<count).flatMap { _ in message } }

    @Test("pauses a waiting phone after 64 KiB, and resumes when its client joins")
    func early() throws {
        let relay = try relay()
        let (phone, routing) = try relay.phone()
        let wire = messages(50)
        let read = try relay.flood(phone, wire)
        #expect((64 << 10...(64 << 10) + 2 * Self.read).contains(read))
        #expect(relay.bufferedBytes <= 3 * read)
        let (client, _) = try relay.client(routing)
        #expect(phone.unread == 0)
        #expect(client.takeFrames().map(\.payload.count) == [Int](repeating: 20_000, count: 50))
        #expect(relay.bufferedBytes == 0)
    }

    @Test("pauses an end while its peer's socket is full, but not its peer")
    func paired() throws {
        let relay = try relay()
        let (phone, client) = try relay.pair(buffer: Self.small)
        for _ in 0..<100 { #expect(try relay.flood(phone, message) == message.count) }
        #expect(client.takeFrames().count == 100)
        client.isReading = false
        let wire = messages(100)
        let read = try relay.flood(phone, wire)
        #expect((128 << 10...(128 << 10) + 2 * Self.read + 4 * Int(Self.small)).contains(read))
        #expect(relay.bufferedBytes > 64 << 10 && relay.bufferedBytes <= 3 * read)
        #expect(try relay.flood(client, message) == message.count)
        #expect(phone.takeFrames().count == 1)
        client.isReading = true
        try relay.settle()
        #expect(phone.unread == 0 && client.takeFrames().count == 100)
        #expect(relay.bufferedBytes == 0)
    }

    @Test("limits each tunnel to one read while the total budget is exhausted")
    func budget() throws {
        let limit = 30_000
        let relay = try relay(bufferedBytes: limit)
        let (first, second) = try stalledPairs(relay)
        let wire = (0..<80).flatMap { _ in Wire.frame([UInt8](repeating: 2, count: 10_000)) }
        let firstRead = try relay.flood(first.phone, wire)
        #expect(relay.bufferedBytes >= limit)
        #expect(firstRead <= limit + Self.read + 4 * Int(Self.small))
        let before = relay.bufferedBytes
        let secondRead = try relay.flood(second.phone, wire)
        #expect(secondRead > 0, "it has no bytes in flight")
        #expect(secondRead <= Self.read + 4 * Int(Self.small))
        #expect(relay.bufferedBytes <= before + 3 * Self.read)
        for pair in [first, second] {
            pair.client.isReading = true
            try relay.settle()
            // Some frames arrive in fragments.
            #expect(pair.phone.unread == 0)
            #expect(pair.client.takeFrames().map(\.payload.count).reduce(0, +) == 800_000)
        }
        #expect(relay.bufferedBytes == 0)
    }

    /// Returns two tunnels whose clients do not read.
    private func stalledPairs(
        _ relay: HandDrivenRelay
    ) throws -> (first: (phone: WireEnd, client: WireEnd), second: (phone: WireEnd, client: WireEnd)) {
        let pairs = try ["1", "2"].map { try relay.pair(buffer: Self.small, tunnel: String(repeating: $0, count: 32)) }
        for pair in pairs { pair.client.isReading = false }
        return (pairs[0], pairs[1])
    }

    @Test("forwards a large frame in fragments while memory is short, also one that it already holds")
    func incompleteUnderPressure() throws {
        let relay = try relay(bufferedBytes: 100_000)
        let (first, second) = try stalledPairs(relay)
        second.client.isReading = true
        let wire = Wire.frame([UInt8](repeating: 9, count: 60_000))
        try relay.flood(second.phone, Array(wire.prefix(30_000)))
        #expect(second.client.takeFrames().isEmpty && relay.bufferedBytes >= 30_000)
        try relay.flood(first.phone, messages(8))
        #expect(relay.bufferedBytes >= 100_000)
        let before = relay.bufferedBytes
        try relay.advance(by: .seconds(1))
        #expect(relay.bufferedBytes <= before - 20_000)
        for start in stride(from: 30_000, to: wire.count, by: 3_000) {
            try relay.flood(second.phone, Array(wire[start..<min(start + 3_000, wire.count)]))
        }
        #expect(second.phone.unread == 0)
        let frames = second.client.takeFrames()
        #expect(frames.flatMap(\.payload) == [UInt8](repeating: 9, count: 60_000))
        #expect(frames.count > 1 && frames.first?.opcode == Wire.binary)
        #expect(frames.map(\.final) == frames.indices.map { $0 == frames.count - 1 })
        first.client.isReading = true
        try relay.settle()
        #expect(first.client.takeFrames().map(\.payload.count).reduce(0, +) == 160_000 && relay.bufferedBytes == 0)
    }

    @Test("buffered bytes count once until they are released, whichever end leaves first", arguments: [true, false])
    func leftBehind(phoneLeavesFirst: Bool) throws {
        let relay = try relay()
        let (phone, client) = try relay.pair(buffer: Self.small)
        client.isReading = false
        try relay.flood(phone, messages(4))
        #expect(relay.bufferedBytes > 20_000)
        let (first, last) = phoneLeavesFirst ? (phone, client) : (client, phone)
        first.close()
        try relay.settle()
        #expect(relay.bufferedBytes >= 0)
        last.close()
        try relay.settle()
        #expect(relay.bufferedBytes == 0 && relay.connections == 0)
    }

    @Test("early frames count until the phone leaves")
    func earlyLeft() throws {
        let relay = try relay()
        let (phone, _) = try relay.phone()
        try relay.flood(phone, message)
        #expect(relay.bufferedBytes >= 20_000)
        phone.close()
        try relay.settle()
        #expect(relay.bufferedBytes == 0 && relay.connections == 0)
    }

    @Test("an incomplete frame counts until it is complete", arguments: [true, false])
    func incomplete(isPaired: Bool) throws {
        let relay = try relay()
        let (phone, routing) = try relay.phone()
        let client = isPaired ? try relay.client(routing).end : nil
        let wire = Wire.frame([UInt8](repeating: 9, count: 60_000))
        try relay.flood(phone, Array(wire.dropLast()))
        #expect(relay.bufferedBytes >= 60_000)
        try relay.flood(phone, Array(wire.suffix(1)))
        if let client {
            #expect(client.takeFrames().map(\.payload.count) == [60_000])
            #expect(relay.bufferedBytes == 0)
        }
        phone.close()
        try relay.settle()
        #expect(relay.bufferedBytes == 0)
    }

    @Test("answers ten pings per sweep, and then the latest of the others")
    func pongRate() throws {
        let relay = try relay()
        let (phone, _) = try relay.phone()
        for number in 0..<UInt8(50) {
            try phone.send(Wire.frame([number], opcode: Wire.ping))
            try relay.settle()
        }
        #expect(phone.takeFrames().map(\.payload) == (0..<10).map { [$0] })
        try relay.advance(by: .seconds(1))
        #expect(phone.takeFrames().map(\.payload) == [[49]])
    }

    @Test("answers only the latest ping of an end that does not read")
    func pongs() throws {
        let relay = try relay()
        let (phone, client) = try relay.pair(buffer: Self.small)
        phone.isReading = false
        try relay.flood(client, messages(20))
        for number in 0..<UInt8(50) {
            try phone.send(Wire.frame([number], opcode: Wire.ping))
            try relay.settle()
        }
        phone.isReading = true
        try relay.settle()
        let pongs = phone.takeFrames().filter { $0.opcode != Wire.binary }
        #expect(pongs == [.init(opcode: Wire.pong, final: true, payload: [49])])
    }

    @Test("resumes reading a paused phone after its tunnel has ended")
    func pausedThenOver() throws {
        let relay = try relay()
        let (phone, _) = try relay.phone()
        try relay.flood(phone, messages(12))
        #expect(phone.unread > 0)
        try relay.advance(by: .seconds(121))
        #expect(phone.unread == 0)
        #expect(phone.takeFrames().map(\.closeCode) == [1008])
        #expect(phone.hasEnded)
    }
}
