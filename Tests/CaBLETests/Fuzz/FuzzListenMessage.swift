// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import TestSupport

@testable import HybridCaBLE

/// Tests that each message between a relay and a listening phone has one spelling, and that its values are in range.
func fuzzListenMessage(_ input: [UInt8]) throws -> Bool {
    let message: ListenMessage
    do throws(ListenMessage.ParseError) {
        message = try ListenMessage(parsing: input)
    } catch {
        let map = (try? CBORDecoder.decode(input, mode: .strict))?.map
        let names = [
            "hello", "own", "ok", "wake", "decline", "gone", "vapid", "seal", "proof", "sealed", "unsealed",
        ]
        let isNamed = map?[0]?.text.map(names.contains) ?? false
        switch error {
        case .unknownName: try invariant(map != nil && !isNamed, "a name is unknown")
        case .malformedMember: try invariant(isNamed, "a member of a known message is malformed")
        default: break
        }
        return false
    }
    try invariant(input.count <= 1024, "a message is short")
    try invariant(message.encoded == input, "a message has one spelling")
    switch message {
    case .hello(_, let seconds): try invariant((1...300).contains(seconds), "pings have a limited interval")
    case .wake(_, _, _, let payload, let seconds):
        try invariant((0...600).contains(seconds), "a client waits for a limited time")
        try invariant((1...256).contains(payload.bytes.count), "a payload has a limited length")
    case .own(let key, let signature):
        // A statement that no input can contain a signature of.
        let statement = ContactStatement.gone(host: "cable.example", key.contactID)
        try invariant(!key.verifies(signature, of: statement), "a random signature does not verify")
    case .seal(let subscription):
        try invariant((1...512).contains(subscription.endpoint.utf8.count), "an endpoint has a limited length")
    case .sealed(let contact, _): try invariant(contact.kind == .push, "a contact ID is one of a push subscription")
    case .ok, .decline, .gone, .vapidRequest, .vapid, .proof, .unsealed: break
    }
    return true
}
