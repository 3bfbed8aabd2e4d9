// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("Reading a client's frames")
struct FrameReaderTests {
    private func read(_ pieces: [[UInt8]], maximum: Int = 1 << 20) -> ReadFrames {
        ReadFrames(pieces, maximum: maximum)
    }

    private func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    @Test(
        "unmasks a message of any length and writes a server's header",
        arguments: [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 124, 125, 126, 127, 255, 256, 4096, 65_535, 65_536]
    )
    func lengths(count: Int) {
        let payload = bytes(count)
        let outcome = read([Wire.frame(payload)])
        #expect(Wire.takeAll(from: outcome.data) == [.init(opcode: Wire.binary, final: true, payload: payload)])
        #expect(outcome.cost == max(count, 16))
        #expect(outcome.data.count == count + (count <= 125 ? 2 : count <= 65_535 ? 4 : 10))
    }

    @Test("keeps only the bytes of an incomplete frame", arguments: [0, 1, 5, 6, 100, 65_535])
    func held(payload: Int) {
        let whole = Wire.frame([7], opcode: Wire.pong) + Wire.frame([1, 2], opcode: Wire.ping) + Wire.frame([1, 2, 3])
        #expect(read([whole]).rest == [])
        let rest = Array(Wire.frame(bytes(payload)).dropLast())
        #expect(read([whole + rest]).rest == rest)
        #expect(read([whole, rest]).rest == rest)
    }

    @Test("reads the same wherever the input begins in the buffer")
    func places() {
        let wire = Self.conversation
        let whole = read([wire])
        for room in FrameReader.headroom...(FrameReader.headroom + 16) {
            #expect(ReadFrames([wire], room: room) == whole, "\(room)")
            #expect(ReadFrames([Array(wire.prefix(50)), Array(wire.dropFirst(50))], room: room) == whole, "\(room)")
        }
    }

    @Test("forwards a larger frame in fragments of the same message", arguments: [65_537, 200_000, 1 << 20])
    func largeFrames(count: Int) {
        let payload = bytes(count)
        let wire = Wire.frame(payload) + Wire.frame([7])
        for size in [1_000_000_000, 65_536, 10_007] {
            let pieces = stride(from: 0, to: wire.count, by: size).map { Array(wire[$0..<min($0 + size, wire.count)]) }
            let frames = Wire.takeAll(from: read(pieces).data)
            #expect(frames.last == .init(opcode: Wire.binary, final: true, payload: [7]))
            let message = frames.dropLast()
            #expect(message.map(\.opcode) == [Wire.binary] + [UInt8](repeating: 0, count: message.count - 1))
            #expect(message.map(\.final) == [Bool](repeating: false, count: message.count - 1) + [true])
            #expect(message.flatMap(\.payload) == payload)
        }
    }

    @Test("does not mark the end of a large fragment as final")
    func largeFragment() {
        let first = bytes(100_000)
        let wire = Wire.frame(first, final: false) + Wire.frame([1], opcode: 0)
        let pieces = stride(from: 0, to: wire.count, by: 30_000).map { Array(wire[$0..<min($0 + 30_000, wire.count)]) }
        let frames = Wire.takeAll(from: read(pieces).data)
        #expect(frames.dropLast().allSatisfy { !$0.final })
        #expect(frames.last == .init(opcode: 0, final: true, payload: [1]))
        #expect(frames.flatMap(\.payload) == first + [1])
    }

    private static let conversation: [UInt8] =
        Wire.frame([1, 2, 3]) + Wire.frame([], final: false) + Wire.frame([9], opcode: Wire.ping)
        + Wire.frame([4, 5, 6, 7, 8, 9, 10, 11, 12], opcode: 0, final: false, mask: [1, 2, 3, 4])
        + Wire.frame([], opcode: Wire.pong) + Wire.frame([UInt8](repeating: 7, count: 130), opcode: 0)
        + Wire.frame([13]) + Wire.closeFrame(1000)

    @Test("reads the same frames wherever the input is split")
    func splits() {
        let wire = Self.conversation
        let whole = read([wire])
        #expect(whole.violation == nil)
        #expect(whole.closes == [1000])
        #expect(whole.pings == [[9]] && whole.pongs == 1)
        let frames = Wire.takeAll(from: whole.data)
        #expect(frames.map(\.payload.count) == [3, 0, 9, 130, 1])
        #expect(frames.map(\.opcode) == [2, 2, 0, 0, 2])
        #expect(frames.map(\.final) == [true, false, false, true, true])
        for cut in 0...wire.count {
            #expect(read([Array(wire[..<cut]), Array(wire[cut...])]) == whole, "\(cut)")
        }
        #expect(read(wire.map { [$0] }) == whole)
    }

    @Test("waits without a violation wherever the input is truncated")
    func truncations() {
        let wire = Self.conversation
        for length in 0..<wire.count {
            let outcome = read([Array(wire[..<length])])
            #expect(outcome.violation == nil && outcome.closes.isEmpty, "\(length)")
        }
    }

    static let violations: [(FrameViolation, [UInt8])] = [
        (.unmasked, Wire.frame([1], mask: nil)),
        (.unmasked, Wire.frame([], opcode: Wire.close, mask: nil)),
        (.unmasked, Wire.frame([1], opcode: 1, mask: nil)),
        (.reservedBits, Wire.frame([1], reserved: 1)),
        (.reservedBits, Wire.frame([1], reserved: 2)),
        (.reservedBits, Wire.frame([1], reserved: 4)),
        (.text, Wire.frame([65], opcode: 1)),
        (.text, Wire.frame([65], opcode: 1, final: false)),
        (.fragmentedControl, Wire.frame([1], opcode: Wire.ping, final: false)),
        (.fragmentedControl, Wire.frame([], opcode: Wire.close, final: false)),
        (.oversizedControl, Wire.frame([UInt8](repeating: 0, count: 126), opcode: Wire.ping)),
        (.oversizedControl, Wire.frame([UInt8](repeating: 0, count: 126), opcode: Wire.close)),
        (.malformedLength, Wire.frame([1], lengthBytes: 2)),
        (.malformedLength, Wire.frame([UInt8](repeating: 0, count: 125), lengthBytes: 2)),
        (.malformedLength, Wire.frame([UInt8](repeating: 0, count: 65_535), lengthBytes: 8)),
        (.malformedLength, [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]),
        (.malformedLength, [0x82, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4]),
        (.oversizedMessage, [0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4]),
        (.strayContinuation, Wire.frame([1], opcode: 0)),
        (.strayContinuation, Wire.frame([1]) + Wire.frame([1], opcode: 0)),
        (.interruptedMessage, Wire.frame([1], final: false) + Wire.frame([1])),
        (.malformedClose, Wire.frame([3], opcode: Wire.close)),
        (.malformedClose, Wire.closeFrame(0)),
        (.malformedClose, Wire.closeFrame(999)),
        (.malformedClose, Wire.closeFrame(1004)),
        (.malformedClose, Wire.closeFrame(1005)),
        (.malformedClose, Wire.closeFrame(1006)),
        (.malformedClose, Wire.closeFrame(1015)),
        (.malformedClose, Wire.closeFrame(2999)),
        (.malformedClose, Wire.closeFrame(5000)),
        (.malformedReason, Wire.frame([0x03, 0xE8, 0xFF], opcode: Wire.close)),
        (.malformedReason, Wire.frame([0x03, 0xE8, 0x61, 0xC3], opcode: Wire.close)),
        (.malformedReason, Wire.frame([0x03, 0xE8, 0xED, 0xA0, 0x80], opcode: Wire.close)),
        (.malformedReason, Wire.frame([0x03, 0xE8, 0xC0, 0x80], opcode: Wire.close)),
    ]

    // By index, since a test's arguments are printed and some of these are a megabyte long.
    @Test("stops at a violation", arguments: violations.indices)
    func violation(number: Int) {
        let (expected, wire) = Self.violations[number]
        #expect(read([wire]).violation == expected)
        #expect(read(wire.map { [$0] }).violation == expected)
        #expect(read([wire + Wire.frame([1])]).violation == expected)
    }

    @Test("rejects other opcodes", arguments: [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8])
    func opcodes(opcode: UInt8) {
        #expect(read([Wire.frame([1], opcode: opcode)]).violation == .unknownOpcode)
    }

    @Test("forwards frames before a violation in the same bytes, then throws")
    func dataBeforeViolation() throws {
        var reader = FrameReader(maximumMessage: 100)
        var bytes =
            [UInt8](repeating: 0, count: FrameReader.headroom) + Wire.frame([1]) + Wire.frame([2])
            + Wire.frame([3], mask: nil)
        var position = FrameReader.headroom
        let first = try ReadFrames.next(&reader, &bytes, &position)
        guard case .data(let range, cost: 32) = first else {
            Issue.record("\(String(describing: first))")
            return
        }
        #expect(bytes[range] == [0x82, 1, 1, 0x82, 1, 2])
        #expect(throws: FrameViolation.unmasked) { try ReadFrames.next(&reader, &bytes, &position) }
    }

    @Test("accepts messages up to the limit, in one frame or many")
    func messageLimit() {
        let limit = 1000
        #expect(read([Wire.frame(bytes(limit))], maximum: limit).violation == nil)
        #expect(read([Wire.frame(bytes(limit + 1))], maximum: limit).violation == .oversizedMessage)
        let half = Wire.frame(bytes(500), final: false)
        #expect(read([half + Wire.frame(bytes(500), opcode: 0)], maximum: limit).violation == nil)
        #expect(read([half + Wire.frame(bytes(501), opcode: 0)], maximum: limit).violation == .oversizedMessage)
        let twice = Wire.frame(bytes(limit)) + Wire.frame(bytes(limit))
        #expect(read([twice], maximum: limit).violation == nil)
        #expect(read([Array(Wire.frame(bytes(limit + 1)).prefix(8))], maximum: limit).violation == .oversizedMessage)
    }

    @Test("counts empty frames and control frames")
    func costs() {
        let wire = Wire.frame([], final: false) + Wire.frame([], opcode: 0) + Wire.frame([1], opcode: Wire.ping)
        #expect(read([wire]).cost == 48)
    }

    @Test("never traps on random bytes, and reads the same in one piece or many", arguments: 0..<200)
    func randomBytes(seed: Int) {
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1
        var wire: [UInt8] = []
        for _ in 0..<400 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let byte = UInt8(truncatingIfNeeded: state >> 33)
            // Mostly plausible frames: a binary, continuation or ping opcode and a short masked length.
            switch wire.count % 7 {
            case 0: wire.append([0x82, 0x02, 0x80, 0x00, 0x89, 0x8A, byte][Int(byte) % 7])
            case 1: wire.append(byte < 240 ? 0x81 : byte)
            default: wire.append(byte)
            }
        }
        #expect(read([wire]) == read(wire.map { [$0] }))
    }
}
