// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import HybridWebAuthn
import TestSupport

/// Tests a website's request, the message of a client, and the reply of a phone.
func fuzzDigitalCredential(_ input: [UInt8]) throws -> Bool {
    let origin = try Origin("https://example.com")
    var isAccepted = false
    if let request = try? DigitalCredentialRequest(json: input, operation: .issuance, origin: origin) {
        let message = try DigitalCredentialRequest(message: request.message)
        try invariant(message.message == request.message, "a message is its own serialization")
        try invariant(message.origin == origin.text && message.operation == .issuance, "it has origin and operation")
        isAccepted = true
    }
    if let request = try? DigitalCredentialRequest(message: input) {
        try invariant(!request.protocols.isEmpty, "a request has a protocol")
        isAccepted = true
    }
    let question = Array(#"{"digital":{"requests":[{"protocol":"p","data":{}}]}}"#.utf8)
    let request = try DigitalCredentialRequest(json: question, operation: .presentation, origin: origin)
    do {
        let response = try DigitalCredentialResponse(reply: input, to: request)
        try invariant("\(response)" == "DigitalCredentialResponse(hidden)", "a response is never printed")
        let json = try JSONText(parsing: response.json)
        try invariant(json.member("data") != nil && json.member("protocol")?.text != nil, "the output has both members")
        isAccepted = true
    } catch let error as DigitalCredentialError {
        try isOneLine(error.sentence)
    }
    return isAccepted
}
