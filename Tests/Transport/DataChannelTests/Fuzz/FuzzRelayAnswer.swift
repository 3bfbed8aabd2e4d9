// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridNetwork
import HybridPrimitives
import TestSupport

@testable import HybridDataChannel

/// Checks a relay's response and the frames behind it: the result does not depend on how the bytes are split, only a
/// correct response opens a tunnel, and only whole messages and allowed control frames are delivered.
///
/// The first byte is the size of the pieces. The second selects the request, and whether a response that opens the
/// connection precedes the bytes.
func fuzzRelayAnswer(_ input: [UInt8]) throws -> Bool {
    guard input.count >= 2 else { return false }
    let (size, kind) = (Int(input[0]) + 1, input[1])
    let tunnel = try present(TunnelID(bytes: [UInt8](repeating: 0x11, count: 16)), "16 bytes are an ID")
    let contact = try present(ContactID(bytes: [1]), "one byte is an ID")
    let path: TunnelPath =
        switch kind & 13 {
        case 0: .new(tunnel)
        case 1: .connect(RoutingID(node: 1, check: 2), tunnel)
        case 4, 5: .contact(contact)
        default: .listen(contact)
        }
    let isNew = path == .new(tunnel)
    let isListening = path == .listen(contact)
    let known = isListening ? RelayConversation.listeningAnswer : RelayConversation.answer
    let bytes = (kind & 2 == 0 ? known : []) + input.dropFirst(2)
    let whole = try RelayConversation(path, bytes, pieces: bytes.count + 1)
    let pieces = try RelayConversation(path, bytes, pieces: size)
    // Of two reasons to reject, either may come first: bytes behind a bad response may not have arrived yet.
    try invariant(pieces == whole || pieces.isRefused && whole.isRefused, "the pieces make no difference")
    switch whole.opening {
    case .opened(let acceptance)?:
        try invariant((acceptance.routingID != nil) == isNew, "an authenticator receives its routing ID")
        let text = String(decoding: bytes, as: UTF8.self)
        let field = text.lowercased().contains("x-cable-signal-connection")
        try invariant(!acceptance.signalsConnection || path == .contact(contact) && field, "a relay announces a phone")
        let subprotocol = isListening ? ListenMessage.subprotocol : TunnelPath.subprotocol
        for needed in [RelayConversation.accept, subprotocol] {
            try invariant(text.contains(needed), "a response that opens a tunnel contains \(needed)")
        }
        try messages(whole, bytes, behind: known)
        return !whole.messages.isEmpty
    case .refused(let error)?:
        for status in [101, 401, 404, 429, 503] {
            try invariant(error != .network(.refused(status: status)), "known statuses have their own sentences")
        }
        try invariant(!error.isContactGone || path == .contact(contact), "only a contact is gone")
        if let revocation = error.revocation {
            try invariant(!revocation.proves(contact, host: "cable.example"), "no key has this contact ID")
        }
    case .nonsense?, nil: break
    }
    try invariant(whole.messages.isEmpty, "no tunnel, no messages")
    return false
}

private func messages(_ conversation: RelayConversation, _ bytes: [UInt8], behind known: [UInt8]) throws {
    for message in conversation.messages {
        try invariant([2, 8, 9, 10].contains(message.opcode), "only messages and control frames are delivered")
        try invariant(message.opcode == 2 || message.payload.count <= 125, "control frames are short")
    }
    // The known response has a known length, so a reference reader can read the rest. NIO also accepts lengths that are
    // not in their shortest form, which is harmless.
    guard bytes.starts(with: known) else { return }
    let behind = Array(bytes.dropFirst(known.count))
    let reference = ReferenceFrames(behind, masked: false, anyLength: true, maximumMessage: Limits.messageBytes)
    let data = conversation.messages.filter { $0.opcode == 2 }.map(\.payload)
    try invariant(reference.messages.starts(with: data), "messages are those of the reference reader")
    if reference.end != .broken, !conversation.isBroken {
        try invariant(data == reference.messages, "and all of them")
    }
}
