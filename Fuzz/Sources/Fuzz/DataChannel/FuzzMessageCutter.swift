// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE

@testable import HybridDataChannel

/// Messages in the packets of an L2CAP channel, cut and glued in every manner, come out as they were sent; bytes that are
/// no messages are tried within bounds.
func fuzzMessageCutter(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    let (manner, isWhole) = (choices.number(below: 3), choices.number(below: 4) > 0)
    var messages: [[UInt8]] = []
    while messages.count < 16, choices.number(below: 8) > 0, !choices.isEmpty {
        // The shortest frame has 17 bytes; marks in the midst of one are frequent here.
        let body = choices.bytes(choices.number(below: 100)).map { $0 < 40 ? 0x0D : $0 < 80 ? 0x0A : $0 }
        messages.append([UInt8(messages.count)] + body + [UInt8](repeating: 0x80, count: 16))
    }
    let packets = packets(messages, manner, &choices)
    return try isWhole ? whole(messages, packets) : nobodys(packets + [choices.bytes(1000)])
}

private func packets(_ messages: [[UInt8]], _ manner: Int, _ choices: inout Choices) -> [[UInt8]] {
    let mark: [UInt8] = [0x0D, 0x0A]
    switch manner {
    case 0: return messages
    case 1: return messages.flatMap { [$0, mark] }
    default:
        var (pieces, rest) = ([[UInt8]](), messages.flatMap { $0 + mark }[...])
        while !rest.isEmpty {
            let count = 1 + choices.number(below: 200)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}

/// Somebody who knows each message when it is shown gets them all.
private func whole(_ messages: [[UInt8]], _ packets: [[UInt8]]) throws -> Bool {
    var cutter = MessageReassembler()
    var taken = 0
    func take() throws {
        while taken < messages.count, try cutter.next({ $0.bytes == messages[taken] ? true : nil }) != nil {
            taken += 1
        }
    }
    for packet in packets {
        cutter.append(packet)
        try take()
    }
    cutter.end()
    try take()
    try invariant(taken == messages.count, "every message comes out")
    try invariant(cutter.isEmpty, "and nothing is left")
    return !messages.isEmpty
}

/// Somebody who takes nothing is shown no more than may be tried, nothing longer than a message, and nothing twice.
private func nobodys(_ packets: [[UInt8]]) throws -> Bool {
    var cutter = MessageReassembler()
    var (tried, longest) = (0, -1)
    do throws(TunnelError) {
        for packet in packets {
            cutter.append(packet)
            _ = try cutter.next { message -> Bool? in
                tried += message.bytes.count
                longest = max(longest, message.bytes.count)
                return nil
            }
        }
    } catch {
        return false
    }
    try invariant(tried <= MessageReassembler.mostTried, "what is tried is bounded")
    try invariant(longest <= packets.joined().count, "nothing is made up")
    return false
}
