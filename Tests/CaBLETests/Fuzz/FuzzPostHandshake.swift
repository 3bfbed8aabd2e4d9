// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import TestSupport

/// Tests that first and later messages survive the round trip.
func fuzzPostHandshake(_ input: [UInt8]) throws -> Bool {
    var isTaken = false
    if let message = try? PostHandshakeMessage(parsing: input) {
        let again = try PostHandshakeMessage(parsing: message.encoded)
        try invariant(
            again.info == message.info && again.features == message.features,
            "a first message survives the round trip"
        )
        try invariant((message.info != nil) == message.features.contains(.ctap), "getInfo comes with CTAP")
        isTaken = true
    }
    let message: ChannelMessage
    do throws(ChannelMessage.ParseError) {
        message = try ChannelMessage(parsing: input)
    } catch {
        switch error {
        case .empty: try invariant(input.isEmpty, "only an empty message has no type")
        case .malformedUpdate: try invariant(input[0] == 2, "only an update has a format to check")
        default: try invariant(error == .unknownType(input[0]) && input[0] > 3, "types above 3 are unknown")
        }
        return isTaken
    }
    try invariant(input[0] == message.encoded[0], "the type is the first byte")
    try invariant(
        try ChannelMessage(parsing: message.encoded).encoded == message.encoded,
        "a message survives the round trip"
    )
    switch message {
    case .ctap(let payload): try invariant(payload == Array(input.dropFirst()), "a payload is the rest")
    case .json(let payload): try invariant(payload == Array(input.dropFirst()), "a payload is the rest")
    case .update, .shutdown: break
    }
    return true
}
