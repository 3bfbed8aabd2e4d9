// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE

@testable import HybridDataChannel

/// What a relay answers and sends then, read alike in one piece and in pieces; nothing opens a tunnel but the answer
/// that was asked for, and nothing comes through but whole messages and allowed control frames.
///
/// The first byte says how large the pieces are. The second says what was asked for, and whether an answer that opens
/// the tunnel stands before the bytes.
func fuzzRelayAnswer(_ input: [UInt8]) throws -> Bool {
    guard input.count >= 2 else { return false }
    let (size, kind) = (Int(input[0]) + 1, input[1])
    let tunnel = try present(TunnelID(bytes: [UInt8](repeating: 0x11, count: 16)), "16 bytes are an ID")
    let isNew = kind & 1 == 0
    let path: TunnelPath = isNew ? .new(tunnel) : .connect(RoutingID(node: 1, check: 2), tunnel)
    let bytes = (kind & 2 == 0 ? RelayConversation.answer : []) + input.dropFirst(2)
    let whole = try RelayConversation(path, bytes, pieces: bytes.count + 1)
    let pieces = try RelayConversation(path, bytes, pieces: size)
    // Two reasons to refuse may come in another order: what stands behind a bad answer is looked at, or not yet.
    try invariant(pieces == whole || pieces.isRefused && whole.isRefused, "pieces don't matter")
    switch whole.opening {
    case .opened(let routingID)?:
        try invariant((routingID != nil) == isNew, "a phone is told its routing ID")
        let text = String(decoding: bytes, as: UTF8.self)
        for needed in [RelayConversation.accept, TunnelPath.subprotocol] {
            try invariant(text.contains(needed), "an answer that opens a tunnel says \(needed)")
        }
        try messages(whole, bytes)
        return !whole.messages.isEmpty
    case .refused(let error)?:
        if case .refused(let status) = error {
            try invariant(![101, 401, 404, 429, 503].contains(status), "known statuses have their own words")
        }
    case .nonsense?, nil: break
    }
    try invariant(whole.messages.isEmpty, "no tunnel, no messages")
    return false
}

private func messages(_ conversation: RelayConversation, _ bytes: [UInt8]) throws {
    for message in conversation.messages {
        try invariant([2, 8, 9, 10].contains(message.opcode), "only messages and control frames come through")
        try invariant(message.opcode == 2 || message.payload.count <= 125, "control frames are short")
    }
    // The known answer has a known length, so what follows it can be read by somebody else, too. NIO also takes
    // lengths that are longer than they need be, which means no harm.
    guard bytes.starts(with: RelayConversation.answer) else { return }
    let behind = Array(bytes.dropFirst(RelayConversation.answer.count))
    let reference = ReferenceFrames(behind, masked: false, anyLength: true, maximumMessage: Limits.messageBytes)
    let data = conversation.messages.filter { $0.opcode == 2 }.map(\.payload)
    try invariant(reference.messages.starts(with: data), "messages are those that a slow reader finds")
    if reference.end != .broken, !conversation.isBroken {
        try invariant(data == reference.messages, "and all of them")
    }
}
