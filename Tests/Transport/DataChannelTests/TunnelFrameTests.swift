// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NetworkTestSupport
import Synchronization
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Frames of an open tunnel", .timeLimit(.minutes(5)))
struct TunnelFrameTests {
    @Test("Each sent frame has its own mask")
    func masked() async throws {
        let sizes = [0, 1, 125, 126, 65_535, 65_536, 300_000, 1 << 20]
        let (frames, _) = try await ScriptedRelay.run {
            try await $0.answer()
            var frames: [Wire.Received] = []
            for _ in sizes { frames.append(try await $0.readFrame()) }
            frames.append(try await $0.readFrame())
            // The client waits only two seconds for it, which a megabyte may take.
            try? await $0.send(Wire.closeFrame(1000))
            await $0.readToEnd()
            return frames
        } client: { endpoint in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { tunnel in
                for size in sizes {
                    try await tunnel.send(WireMessage(bytes: (0..<size).map { UInt8(truncatingIfNeeded: $0) }))
                }
            }
        }
        #expect(frames.dropLast().map(\.payload) == sizes.map { (0..<$0).map { UInt8(truncatingIfNeeded: $0) } })
        #expect(frames.dropLast().allSatisfy { $0.opcode == Wire.binary && $0.final })
        #expect(frames.allSatisfy { $0.mask != nil })
        #expect(Set(frames.compactMap(\.mask)).count == frames.count, "4 random bytes each")
        #expect(frames.last?.closeCode == 1000)
    }

    /// A frame that a relay must not send.
    struct Forbidden: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let bytes: [UInt8]

        init(_ name: String, _ bytes: [UInt8]) { (testDescription, self.bytes) = (name, bytes) }
    }

    static let forbidden: [Forbidden] = [
        Forbidden("masked", Wire.frame([1, 2], mask: [1, 2, 3, 4])),
        Forbidden("reserved bit 1", Wire.frame([1], reserved: 0b100)),
        Forbidden("reserved bit 2", Wire.frame([1], reserved: 0b010)),
        Forbidden("reserved bit 3", Wire.frame([1], reserved: 0b001)),
        Forbidden("text", Wire.frame([0x61], opcode: Wire.text)),
        Forbidden("unknown data opcode", Wire.frame([1], opcode: 3)),
        Forbidden("unknown control opcode", Wire.frame([1], opcode: 11)),
        Forbidden("continuation of nothing", Wire.frame([1], opcode: Wire.continuation)),
        Forbidden("message in a message", Wire.frame([1], final: false) + Wire.frame([2])),
        Forbidden("fragmented ping", Wire.frame([1], opcode: Wire.ping, final: false)),
        Forbidden("long ping", Wire.frame([UInt8](repeating: 7, count: 126), opcode: Wire.ping)),
        Forbidden("1 MiB and a byte, by its header alone", Wire.frame([], claimedLength: (1 << 20) + 1)),
        Forbidden("2^63 bytes, by its header alone", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        Forbidden(
            "1 MiB and a byte in two fragments",
            Wire.frame([UInt8](repeating: 0, count: 1 << 20), final: false)
                + Wire.frame([1], opcode: Wire.continuation)
        ),
        Forbidden(
            "2,000 fragments",
            Wire.frame([1], final: false)
                + (0..<2_000).flatMap { _ in Wire.frame([1], opcode: Wire.continuation, final: false) }
        ),
    ]

    @Test("Frames that RFC 6455 forbids end the tunnel", arguments: forbidden)
    func forbiddenFrames(_ frame: Forbidden) async throws {
        let (_, failure) = try await ScriptedRelay.run {
            try await $0.answer(then: Wire.frame([42]))
            // The client may close before all of it is sent.
            try? await $0.send(frame.bytes)
            await $0.readToEnd()
        } client: {
            await Client.failure(at: $0) { tunnel in
                #expect(try await tunnel.next() == [42])
                let next = try await tunnel.next()
                Issue.record("a message of \(next.count) bytes")
            }
        }
        #expect(failure?.isMisbehavior == true, "\(String(describing: failure))")
    }

    @Test("Violations are distinguished")
    func complaints() async throws {
        let cases: [(String, String)] = [
            ("1 MiB and a byte in two fragments", "it sent a message of more than 1 MiB"),
            ("2,000 fragments", "it sent a message in too many fragments"),
            ("continuation of nothing", "it broke the WebSocket protocol"),
            ("text", "it sent text"),
            ("masked", "it masked a frame"),
        ]
        for (name, complaint) in cases {
            let frame = try #require(Self.forbidden.first { $0.testDescription == name })
            let (_, failure) = try await ScriptedRelay.run {
                try await $0.answer()
                try? await $0.send(frame.bytes)
                await $0.readToEnd()
            } client: {
                await Client.failure(at: $0) { _ = try await $0.next() }
            }
            #expect(failure == .relayMisbehaved(complaint))
        }
    }

    @Test("Fragments are reassembled, with a ping between them")
    func fragments() async throws {
        let (pong, messages) = try await ScriptedRelay.run {
            try await $0.answer()
            try await $0.send(Wire.frame([1, 2], final: false))
            try await $0.send(Wire.frame([], opcode: Wire.continuation, final: false))
            try await $0.send(Wire.frame([9], opcode: Wire.ping))
            try await $0.send(Wire.frame([3], opcode: Wire.continuation) + Wire.frame([4]) + Wire.frame([]))
            let pong = try await $0.readFrame()
            #expect(try await $0.finish() == 1000)
            return pong
        } client: { endpoint in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { tunnel in
                [try await tunnel.next(), try await tunnel.next(), try await tunnel.next()]
            }
        }
        #expect(messages == [[1, 2, 3], [4], []])
        #expect(pong.opcode == Wire.pong)
    }

    @Test("The longest message is accepted, whole or in fragments")
    func longest() async throws {
        let half = [UInt8](repeating: 0x77, count: 1 << 19)
        let (_, messages) = try await ScriptedRelay.run {
            try await $0.answer()
            try await $0.send(Wire.frame(half + half))
            try await $0.send(Wire.frame(half, final: false) + Wire.frame(half, opcode: Wire.continuation))
            return try await $0.finish()
        } client: { endpoint in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { tunnel in
                [try await tunnel.next(), try await tunnel.next()]
            }
        }
        #expect(messages == [half + half, half + half])
    }

    @Test("A ping is answered by a masked pong with the same bytes", arguments: [0, 1, 125])
    func pings(length: Int) async throws {
        let payload = (0..<length).map { UInt8($0) }
        let (pong, _) = try await ScriptedRelay.run {
            try await $0.answer()
            try await $0.send(Wire.frame(payload, opcode: Wire.ping) + Wire.frame([1], opcode: Wire.pong))
            let pong = try await $0.readFrame()
            try await $0.send(Wire.frame([5]))
            #expect(try await $0.finish() == 1000)
            return pong
        } client: { endpoint in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) {
                let message = try await $0.next()
                #expect(message == [5], "neither ping nor pong is a message")
            }
        }
        #expect(pong.opcode == Wire.pong)
        #expect(pong.mask != nil)
        #expect(pong.payload == payload)
    }

    @Test(
        "A close frame ends the tunnel with its code, after the messages before it",
        arguments: [1000, 1001, 1008, 4321] as [UInt16]
    )
    func closed(code: UInt16) async throws {
        let (_, failure) = try await ScriptedRelay.run {
            try await $0.answer()
            try await $0.send(Wire.frame([1]) + Wire.closeFrame(code))
            await $0.readToEnd()
        } client: {
            await Client.failure(at: $0) { tunnel in
                #expect(try await tunnel.next() == [1])
                _ = try await tunnel.next()
            }
        }
        #expect(failure == .closed(code: code))
    }

    @Test("A close frame without a code counts as 1005, and nothing can be sent after it")
    func closedWithoutCode() async throws {
        let (_, failure) = try await ScriptedRelay.run {
            try await $0.answer()
            try await $0.send(Wire.closeFrame(nil))
            await $0.readToEnd()
        } client: {
            await Client.failure(at: $0) { tunnel in
                await #expect(throws: TunnelError.closed(code: 1005)) { try await tunnel.next() }
                await #expect(throws: TunnelError.closed(code: 1005), "and again") { try await tunnel.next() }
                try await tunnel.send(WireMessage(bytes: [1]))
            }
        }
        #expect(failure == .closed(code: 1005))
    }

    @Test("An end without a close frame is a lost connection", arguments: [[], [0x82], [0x82, 5, 1, 2]] as [[UInt8]])
    func lost(halfFrame: [UInt8]) async throws {
        let received = Counter()
        let (_, failure) = try await ScriptedRelay.run {
            // All of it may arrive in one read.
            try await $0.answer(then: Wire.frame([1]) + Wire.frame([2]) + halfFrame)
        } client: {
            await Client.failure(at: $0) { tunnel in
                while true {
                    _ = try await tunnel.next()
                    received.increment()
                }
            }
        }
        #expect(failure == .connectionLost)
        #expect(received.value == 2)
    }

    @Test("A rejected message ends the tunnel")
    func refused() async throws {
        let (code, failure) = try await ScriptedRelay.run {
            try await $0.answer(then: Wire.frame([1]))
            return try await $0.finish()
        } client: {
            await Client.failure(at: $0) { tunnel in
                _ = try await tunnel.receive { (_: WireMessage) -> Bool? in nil }
            }
        }
        #expect(failure == .messageRefused)
        #expect(code == 1001)
    }
}
