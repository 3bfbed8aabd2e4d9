// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE

/// First messages and later ones read back as they are written.
func fuzzPostHandshake(_ input: [UInt8]) throws -> Bool {
    var isTaken = false
    if let message = try? PostHandshakeMessage(parsing: input) {
        let again = try PostHandshakeMessage(parsing: message.encoded)
        try invariant(again.info == message.info && again.features == message.features, "a first message reads back")
        try invariant((message.info != nil) == message.features.contains(.ctap), "getInfo comes with CTAP")
        isTaken = true
    }
    let message: ChannelMessage
    do throws(ChannelMessage.ParseError) {
        message = try ChannelMessage(parsing: input)
    } catch {
        switch error {
        case .empty: try invariant(input.isEmpty, "no byte is the only message without a type")
        case .unknownType(let type): try invariant(type == input[0] && type > 3, "types above 3 are unknown")
        case .malformedUpdate: try invariant(input[0] == 2, "an update is the only message with a form")
        }
        return isTaken
    }
    try invariant(input[0] == message.encoded[0], "the type is the first byte")
    try invariant(try ChannelMessage(parsing: message.encoded).encoded == message.encoded, "a message reads back")
    switch message {
    case .ctap(let payload): try invariant(payload.bytes == Array(input.dropFirst()), "a payload is the rest")
    case .json(let payload): try invariant(payload.bytes == Array(input.dropFirst()), "a payload is the rest")
    case .update, .shutdown: break
    }
    return true
}
