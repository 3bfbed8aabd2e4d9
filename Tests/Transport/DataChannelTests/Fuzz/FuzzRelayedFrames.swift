// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridPrimitives
import HybridRelayCore
import TestSupport

@testable import HybridDataChannel

/// Checks that the other end reads the same messages that one end sends and the relay forwards.
func fuzzRelayedFrames(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    let (relaySize, clientSize) = (choices.pick(sizes), choices.pick(sizes))
    let sent = frames(&choices)
    var reader = FrameReader(maximumMessage: Limits.messageBytes)
    var forwarded: [UInt8] = []
    var held: [UInt8] = []
    var (isBroken, isClosed) = (false, false)
    for piece in sent.pieces(of: relaySize) where !isBroken && !isClosed {
        var bytes = [UInt8](repeating: 0, count: FrameReader.headroom) + held + piece
        var position = FrameReader.headroom
        do throws(FrameViolation) {
            while !isClosed, let event = try reader.next(in: &bytes, from: &position) {
                if case .data(let range, _) = event { forwarded += bytes[range] }
                if case .close = event { isClosed = true }
            }
        } catch {
            isBroken = true
        }
        held = Array(bytes[position...])
    }
    let reference = ReferenceFrames(sent, masked: true, maximumMessage: Limits.messageBytes)
    try invariant(isBroken || reference.end != .broken, "the relay and the reference reader reject the same")
    let tunnel = try present(TunnelID(bytes: [UInt8](repeating: 0x11, count: 16)), "16 bytes are an ID")
    let bytes = RelayConversation.answer + forwarded
    let conversation = try RelayConversation(.new(tunnel), bytes, pieces: clientSize)
    try invariant(!conversation.isBroken, "a client accepts the forwarded bytes")
    try invariant(conversation.messages.allSatisfy { $0.opcode == 2 }, "no control frame is forwarded")
    try invariant(conversation.messages.map(\.payload) == reference.messages, "messages arrive unchanged")
    return !reference.messages.isEmpty
}

/// Sizes of pieces in which a network may deliver; small pieces of large messages would take too long.
private let sizes = [1 << 21, 100_000, 65_536, 16_384, 4096, 1500]

/// Returns frames of lengths around every limit, and some raw bytes.
private func frames(_ choices: inout Choices) -> [UInt8] {
    let lengths = [0, 1, 31, 125, 126, 127, 1000, 2000, 4000, 65_535, 65_536, 65_537, 131_072]
    var bytes: [UInt8] = []
    for _ in 0..<12 where !choices.isEmpty && bytes.count < 400_000 {
        let kind = choices.number(below: 16)
        guard kind < 15 else {
            bytes += choices.bytes(choices.number(below: 40))
            continue
        }
        let opcode: UInt8 = kind < 8 ? 2 : kind < 13 ? 0 : kind == 13 ? 9 : 10
        let isFinal = opcode > 2 || choices.number(below: 3) > 0
        let length = opcode > 2 ? choices.number(below: 126) : choices.pick(lengths)
        let key = (0..<4).map { _ in choices.byte() }
        bytes += ClientFrames.filled(opcode, length: length, from: Int(choices.byte()), isFinal: isFinal, key: key)
    }
    return bytes
}

extension FrameReader {
    /// Returns the next event in an array.
    fileprivate mutating func next(
        in bytes: inout [UInt8],
        from position: inout Int
    ) throws(FrameViolation) -> FrameEvent? {
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        return try next(in: &raw, from: &position)
    }
}
