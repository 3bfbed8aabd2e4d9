// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Where messages end in a stream of packets", .timeLimit(.minutes(5)))
struct MessageReassemblerTests {
    private static let mark: [UInt8] = [0x0D, 0x0A]

    /// What a cutter gives to somebody who knows the next message when it is shown.
    private static func cut(_ packets: [[UInt8]], _ expected: [[UInt8]], ends: Bool) throws -> [[UInt8]] {
        var cutter = MessageReassembler()
        var taken: [[UInt8]] = []
        func take() throws {
            while taken.count < expected.count,
                let message = try cutter.next({ $0.bytes == expected[taken.count] ? $0.bytes : nil })
            { taken.append(message) }
        }
        for packet in packets {
            cutter.append(packet)
            try take()
        }
        if ends {
            cutter.end()
            try take()
            let isEmpty = cutter.isEmpty
            #expect(isEmpty)
        }
        return taken
    }

    /// Bytes in which CR and LF are frequent, alone and together.
    private static func message(_ length: Int, _ random: inout SeededGenerator) -> [UInt8] {
        (0..<length).map { _ in
            let choice = random.number(0...7)
            return choice == 0 ? 0x0D : choice == 1 ? 0x0A : UInt8.random(in: .min ... .max, using: &random)
        }
    }

    private static func pieces(_ bytes: [UInt8], atMost most: Int, _ random: inout SeededGenerator) -> [[UInt8]] {
        var (pieces, rest): ([[UInt8]], ArraySlice<UInt8>) = ([], bytes[...])
        while !rest.isEmpty {
            let count = random.number(1...min(most, rest.count))
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }

    @Test("Marked messages come out, however packets are cut and glued")
    func marked() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(400, thorough: 10_000) {
            let messages = (0..<random.number(1...5)).map { _ in Self.message(random.number(17...200), &random) }
            let stream = messages.flatMap { $0 + Self.mark }
            let packets = Self.pieces(stream, atMost: random.number(1...300), &random)
            #expect(try Self.cut(packets, messages, ends: false) == messages, "\(random)")
        }
    }

    @Test("The last mark may be missing")
    func lastMark() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(200, thorough: 5_000) {
            let messages = (0..<random.number(1...3)).map { _ in Self.message(random.number(17...200), &random) }
            let stream = messages.flatMap { $0 + Self.mark }.dropLast(2)
            let packets = Self.pieces(Array(stream), atMost: random.number(1...300), &random)
            #expect(try Self.cut(packets, messages, ends: true) == messages, "\(random)")
        }
    }

    @Test("A message a packet needs no mark, and one that comes in a packet of its own is none")
    func packets() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(400, thorough: 10_000) {
            let messages = (0..<random.number(1...5)).map { _ in Self.message(random.number(17...200), &random) }
            var packets: [[UInt8]] = []
            for message in messages {
                switch random.number(0...3) {
                case 0: packets.append(message)
                case 1: packets.append(message + Self.mark)
                case 2: packets += [message, Self.mark]
                default: packets += [message + [0x0D], [0x0A]]
                }
            }
            #expect(try Self.cut(packets, messages, ends: true) == messages, "\(random)")
        }
    }

    @Test("What looks like a mark that was still owed may be the message's own beginning")
    func ownBeginning() throws {
        let first = [UInt8](repeating: 1, count: 20)
        let second = Self.mark + [UInt8](repeating: 2, count: 20)
        #expect(try Self.cut([first, second], [first, second], ends: true) == [first, second])
        #expect(try Self.cut([first, Self.mark + second], [first, second], ends: true) == [first, second])
        #expect(try Self.cut([first, second + Self.mark], [first, second], ends: false) == [first, second])
    }

    @Test("What was refused is offered to the next who asks")
    func again() throws {
        var cutter = MessageReassembler()
        cutter.append([1, 2, 3] + Self.mark)
        #expect(try cutter.next { $0.bytes == [1] ? true : nil } == nil)
        #expect(try cutter.next { _ in true } == nil, "to the same one it is not offered twice")
        cutter.offerAgain()
        #expect(try cutter.next { $0.bytes } == [1, 2, 3])
        #expect(cutter.isEmpty)
    }

    @Test("The longest message passes, one byte more does not")
    func longest() throws {
        var random = SeededGenerator()
        for extra in [0, 1] {
            let message = random.bytes(Limits.messageBytes + extra)
            let packets = Self.pieces(message + Self.mark, atMost: 65_535, &random)
            if extra == 0 {
                // A megabyte is nothing to be shown.
                let isCut = try Self.cut(packets, [message], ends: false) == [message]
                #expect(isCut, "\(random)")
            } else {
                #expect(throws: TunnelError.messageRefused) { try Self.cut(packets, [message], ends: false) }
            }
        }
    }

    @Test("A stream without a mark ends soon behind the longest message", arguments: [20, 672, 65_535])
    func endless(packet: Int) throws {
        var cutter = MessageReassembler()
        var sent = 0
        #expect(throws: TunnelError.messageRefused) {
            while true {
                cutter.append([UInt8](repeating: 0x61, count: packet))
                sent += packet
                _ = try cutter.next { _ in Bool?.none }
            }
        }
        #expect(sent <= Limits.messageBytes + 4 + packet)
    }

    @Test("Nothing but marks is not tried for ever", arguments: [2, 512, 65_534])
    func floods(packet: Int) throws {
        var cutter = MessageReassembler()
        var tried = 0
        let marks = (0..<packet / 2).flatMap { _ in Self.mark }
        #expect(throws: TunnelError.messageRefused) {
            while true {
                cutter.append(marks)
                _ = try cutter.next {
                    tried += $0.bytes.count
                    return Bool?.none
                }
            }
        }
        #expect(tried <= MessageReassembler.mostTried)
        #expect(tried > MessageReassembler.mostTried / 2, "it was the trials that ended it")
    }
}
