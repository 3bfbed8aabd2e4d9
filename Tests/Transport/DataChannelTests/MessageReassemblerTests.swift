// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Message reassembly", .timeLimit(.minutes(5)))
struct MessageReassemblerTests {
    private static let delimiter: [UInt8] = [0x0D, 0x0A]

    /// Returns the messages that a receiver accepts who recognizes each expected one.
    private static func cut(_ packets: [[UInt8]], _ expected: [[UInt8]], ends: Bool) throws -> [[UInt8]] {
        var reassembler = MessageReassembler()
        var taken: [[UInt8]] = []
        func take() throws {
            while taken.count < expected.count,
                let message = try reassembler.next({ $0.bytes == expected[taken.count] ? $0.bytes : nil })
            { taken.append(message) }
        }
        for packet in packets {
            reassembler.append(packet)
            try take()
        }
        if ends {
            reassembler.end()
            try take()
            let isEmpty = reassembler.isEmpty
            #expect(isEmpty)
        }
        return taken
    }

    /// Returns bytes in which CR and LF are frequent, alone and together.
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

    @Test("Delimited messages are found however packets are split or joined")
    func delimited() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(400, thorough: 10_000) {
            let messages = (0..<random.number(1...5)).map { _ in Self.message(random.number(17...200), &random) }
            let stream = messages.flatMap { $0 + Self.delimiter }
            let packets = Self.pieces(stream, atMost: random.number(1...300), &random)
            #expect(try Self.cut(packets, messages, ends: false) == messages, "\(random)")
        }
    }

    @Test("The last delimiter may be missing")
    func lastDelimiter() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(200, thorough: 5_000) {
            let messages = (0..<random.number(1...3)).map { _ in Self.message(random.number(17...200), &random) }
            let stream = messages.flatMap { $0 + Self.delimiter }.dropLast(2)
            let packets = Self.pieces(Array(stream), atMost: random.number(1...300), &random)
            #expect(try Self.cut(packets, messages, ends: true) == messages, "\(random)")
        }
    }

    @Test("One message per packet needs no delimiter, and a delimiter in its own packet is no message")
    func packets() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(400, thorough: 10_000) {
            let messages = (0..<random.number(1...5)).map { _ in Self.message(random.number(17...200), &random) }
            var packets: [[UInt8]] = []
            for message in messages {
                switch random.number(0...3) {
                case 0: packets.append(message)
                case 1: packets.append(message + Self.delimiter)
                case 2: packets += [message, Self.delimiter]
                default: packets += [message + [0x0D], [0x0A]]
                }
            }
            #expect(try Self.cut(packets, messages, ends: true) == messages, "\(random)")
        }
    }

    @Test("A message may begin with the bytes of a delimiter")
    func ownBeginning() throws {
        let first = [UInt8](repeating: 1, count: 20)
        let second = Self.delimiter + [UInt8](repeating: 2, count: 20)
        #expect(try Self.cut([first, second], [first, second], ends: true) == [first, second])
        #expect(try Self.cut([first, Self.delimiter + second], [first, second], ends: true) == [first, second])
        #expect(try Self.cut([first, second + Self.delimiter], [first, second], ends: false) == [first, second])
    }

    @Test("Rejected bytes are offered again to another receiver")
    func again() throws {
        var reassembler = MessageReassembler()
        reassembler.append([1, 2, 3] + Self.delimiter)
        #expect(try reassembler.next { $0.bytes == [1] ? true : nil } == nil)
        #expect(try reassembler.next { _ in true } == nil, "not twice to the same receiver")
        reassembler.offerAgain()
        #expect(try reassembler.next { $0.bytes } == [1, 2, 3])
        #expect(reassembler.isEmpty)
    }

    @Test("The longest message is accepted, one byte more is not")
    func longest() throws {
        var random = SeededGenerator()
        for extra in [0, 1] {
            let message = random.bytes(Limits.messageBytes + extra)
            let packets = Self.pieces(message + Self.delimiter, atMost: 65_535, &random)
            if extra == 0 {
                // A failure would print a megabyte.
                let isCut = try Self.cut(packets, [message], ends: false) == [message]
                #expect(isCut, "\(random)")
            } else {
                #expect(throws: TunnelError.messageRefused) { try Self.cut(packets, [message], ends: false) }
            }
        }
    }

    @Test("A stream without delimiters ends soon after the longest message", arguments: [20, 672, 65_535])
    func endless(packet: Int) throws {
        var reassembler = MessageReassembler()
        var sent = 0
        #expect(throws: TunnelError.messageRefused) {
            while true {
                reassembler.append([UInt8](repeating: 0x61, count: packet))
                sent += packet
                _ = try reassembler.next { _ in Bool?.none }
            }
        }
        #expect(sent <= Limits.messageBytes + 4 + packet)
    }

    @Test("Trials of a stream of delimiters are limited", arguments: [2, 512, 65_534])
    func floods(packet: Int) throws {
        var reassembler = MessageReassembler()
        var tried = 0
        let delimiters = (0..<packet / 2).flatMap { _ in Self.delimiter }
        #expect(throws: TunnelError.messageRefused) {
            while true {
                reassembler.append(delimiters)
                _ = try reassembler.next {
                    tried += $0.bytes.count
                    return Bool?.none
                }
            }
        }
        #expect(tried <= MessageReassembler.maximumTried)
        #expect(tried > MessageReassembler.maximumTried / 2, "the limit of trials ended it")
    }
}
