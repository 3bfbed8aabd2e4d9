// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HybridCTAP
import HybridPrimitives
import HybridWebAuthn
import TestSupport

/// Tests that accepted options give a valid request with the same contents.
func fuzzWebAuthnOptions(_ input: [UInt8]) throws -> Bool {
    try base64URL(input)
    let options: PublicKeyOptions
    do throws(OptionsError) {
        options = try PublicKeyOptions(json: input)
    } catch {
        try isOneLine(error.sentence)
        return false
    }
    let origin = try Origin("https://login.example.com")
    let ceremony: Ceremony
    do throws(RelyingPartyIDError) {
        ceremony = try Ceremony(options, origin: origin)
    } catch {
        try isOneLine(error.sentence)
        return false
    }
    let id = ceremony.relyingPartyID.text
    try invariant(
        ["login.example.com", "example.com"].contains(id),
        "the relying party ID is the host or a parent of it"
    )
    let read = try CTAPRequest(parsing: ceremony.ctapRequest.encoded)
    try invariant(read.command == ceremony.ctapRequest.command, "the command is preserved")
    switch (options, ceremony, read) {
    case (.creation(let options), .creation(let ceremony), .makeCredential(let request)):
        try clientData(ceremony.clientData, "webauthn.create", options.challenge)
        try invariant(
            request.clientDataHash == ceremony.clientData.hash,
            "the request contains the hash of the client data"
        )
        try invariant(request.user.id == options.user.id, "the user ID is preserved")
        try invariant(
            request.algorithms == options.algorithms && !request.algorithms.isEmpty,
            "algorithms are preserved"
        )
        try invariant(request.excludeList == options.excludeCredentials, "the exclude list is preserved")
        try invariant(request.residentKey == (options.residentKey != .discouraged), "the resident key option matches")
    case (.request(let options), .request(let ceremony), .getAssertion(let request)):
        try clientData(ceremony.clientData, "webauthn.get", options.challenge)
        try invariant(
            request.clientDataHash == ceremony.clientData.hash,
            "the request contains the hash of the client data"
        )
        try invariant(request.allowList == options.allowCredentials, "the allow list is preserved")
    default: throw BrokenInvariant(description: "broken: the type of the request is preserved")
    }
    return true
}

private func base64URL(_ input: [UInt8]) throws {
    try invariant(Base64URL.decode(Base64URL.encode(input)) == input, "base64url survives the round trip")
    let text = String(decoding: input, as: UTF8.self)
    if let bytes = Base64URL.decode(text) {
        try invariant(Base64URL.encode(bytes) == text, "bytes have a single encoding")
    }
}

private func clientData(_ data: ClientData, _ type: String, _ challenge: [UInt8]) throws {
    struct Members: Decodable {
        let type: String
        let challenge: String
        let origin: String
        let crossOrigin: Bool
    }
    let members = try JSONDecoder().decode(Members.self, from: Data(data.json))
    try invariant(members.type == type && !members.crossOrigin, "client data has the type")
    try invariant(
        Base64URL.decode(members.challenge) == challenge && !challenge.isEmpty,
        "client data has the challenge"
    )
    try invariant(members.origin == "https://login.example.com", "client data has the origin")
}

/// Tests that a sentence for users has no control characters.
func isOneLine(_ sentence: String) throws {
    let isPlain = sentence.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control && $0 != "\u{2028}" }
    try invariant(isPlain && !sentence.isEmpty, "a sentence is one line")
}
