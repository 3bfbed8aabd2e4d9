// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import TestSupport

@testable import HybridDataChannel

/// Checks that messages in L2CAP packets are reassembled however they are split or joined, and that trials of other
/// bytes are limited.
func fuzzMessageReassembler(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    let (manner, isWhole) = (choices.number(below: 3), choices.number(below: 4) > 0)
    var messages: [[UInt8]] = []
    while messages.count < 16, choices.number(below: 8) > 0, !choices.isEmpty {
        // The shortest frame has 17 bytes; delimiters within one are frequent here.
        let body = choices.bytes(choices.number(below: 100)).map { $0 < 40 ? 0x0D : $0 < 80 ? 0x0A : $0 }
        messages.append([UInt8(messages.count)] + body + [UInt8](repeating: 0x80, count: 16))
    }
    let packets = packets(messages, manner, &choices)
    return try isWhole ? whole(messages, packets) : foreign(packets + [choices.bytes(1000)])
}

private func packets(_ messages: [[UInt8]], _ manner: Int, _ choices: inout Choices) -> [[UInt8]] {
    let delimiter: [UInt8] = [0x0D, 0x0A]
    switch manner {
    case 0: return messages
    case 1: return messages.flatMap { [$0, delimiter] }
    default:
        var (pieces, rest) = ([[UInt8]](), messages.flatMap { $0 + delimiter }[...])
        while !rest.isEmpty {
            let count = 1 + choices.number(below: 200)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}

/// Checks that a receiver who recognizes each message gets them all.
private func whole(_ messages: [[UInt8]], _ packets: [[UInt8]]) throws -> Bool {
    var reassembler = MessageReassembler()
    var taken = 0
    func take() throws {
        while taken < messages.count, try reassembler.next({ $0.bytes == messages[taken] ? true : nil }) != nil {
            taken += 1
        }
    }
    for packet in packets {
        reassembler.append(packet)
        try take()
    }
    reassembler.end()
    try take()
    try invariant(taken == messages.count, "every message is delivered")
    try invariant(reassembler.isEmpty, "and nothing is left")
    return !messages.isEmpty
}

/// Checks that a receiver who accepts nothing is offered a limited number of bytes, and no message longer than the
/// input.
private func foreign(_ packets: [[UInt8]]) throws -> Bool {
    var reassembler = MessageReassembler()
    var (tried, longest) = (0, -1)
    do throws(TunnelError) {
        for packet in packets {
            reassembler.append(packet)
            _ = try reassembler.next { message -> Bool? in
                tried += message.bytes.count
                longest = max(longest, message.bytes.count)
                return nil
            }
        }
    } catch {
        return false
    }
    try invariant(tried <= MessageReassembler.maximumTried, "trials are limited")
    try invariant(longest <= packets.joined().count, "no bytes are invented")
    return false
}
