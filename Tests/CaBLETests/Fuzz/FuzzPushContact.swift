// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport

@testable import HybridCaBLE

/// Tests that no input is a contact ID of a relay's keys or a push message for a phone's key, and that what a key has
/// encrypted opens.
func fuzzPushContact(_ input: [UInt8]) throws -> Bool {
    let key = SymmetricKey(data: [UInt8](repeating: 1, count: PushContactIDKeys.keyLength))
    guard let keys = PushContactIDKeys([(input.first ?? 0, key)]),
        let receiver = PushReceiverKey(bytes: [UInt8](repeating: 1, count: PushReceiverKey.length))
    else { return false }
    if let contact = ContactID(bytes: [2] + input) {
        try invariant(keys.open(contact, host: "cable.example", now: 0) == nil, "no input is a contact ID")
    }
    let opened = try? receiver.open(input)
    try invariant(opened == nil, "no input is a push message")
    let endpoint = String(decoding: input, as: UTF8.self)
    guard let subscription = receiver.subscription(endpoint: endpoint),
        let contact = keys.seal(subscription, host: "cable.example", expiry: 1)
    else { return false }
    try invariant(contact.bytes.count <= ContactID.maximumPushLength, "a contact ID is short")
    try invariant(keys.open(contact, host: "cable.example", now: 0) == subscription, "a contact ID opens")
    try invariant(keys.open(contact, host: "cable.example", now: 1) == nil, "a contact ID expires")
    if let message = try? PushMessage(parsing: input) {
        try invariant(message.encoded == input, "a message has one spelling")
    }
    return true
}
