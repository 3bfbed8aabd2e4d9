// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HybridCTAP
import HybridPrimitives
import HybridWebAuthn

/// A website's JSON: what is taken makes a request that an authenticator can read and that says what was asked.
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
    try invariant(["login.example.com", "example.com"].contains(id), "no site speaks for another")
    let read = try CTAPRequest(parsing: ceremony.ctapRequest.encoded)
    try invariant(read.command == ceremony.ctapRequest.command, "an authenticator reads what was asked")
    switch (options, ceremony, read) {
    case (.creation(let options), .creation(let ceremony), .makeCredential(let request)):
        try clientData(ceremony.clientData, "webauthn.create", options.challenge)
        try invariant(request.clientDataHash == ceremony.clientData.hash, "the hash goes to the phone")
        try invariant(request.user.id == options.user.id, "the account is the one that was named")
        try invariant(request.algorithms == options.algorithms && !request.algorithms.isEmpty, "algorithms are kept")
        try invariant(request.excludeList == options.excludeCredentials, "so is the list of what exists")
        try invariant(request.residentKey == (options.residentKey != .discouraged), "and what is to be made")
    case (.request(let options), .request(let ceremony), .getAssertion(let request)):
        try clientData(ceremony.clientData, "webauthn.get", options.challenge)
        try invariant(request.clientDataHash == ceremony.clientData.hash, "the hash goes to the phone")
        try invariant(request.allowList == options.allowCredentials, "the list of who may answer is kept")
    default: throw BrokenInvariant(description: "broken: a creation stays one, and a sign-in too")
    }
    return true
}

private func base64URL(_ input: [UInt8]) throws {
    try invariant(Base64URL.decode(Base64URL.encode(input)) == input, "base64url reads back")
    let text = String(decoding: input, as: UTF8.self)
    if let bytes = Base64URL.decode(text) { try invariant(Base64URL.encode(bytes) == text, "bytes have one text") }
}

private func clientData(_ data: ClientData, _ type: String, _ challenge: [UInt8]) throws {
    struct Members: Decodable {
        let type: String
        let challenge: String
        let origin: String
        let crossOrigin: Bool
    }
    let members = try JSONDecoder().decode(Members.self, from: Data(data.json))
    try invariant(members.type == type && !members.crossOrigin, "client data says what is done")
    try invariant(Base64URL.decode(members.challenge) == challenge && !challenge.isEmpty, "with the challenge")
    try invariant(members.origin == "https://login.example.com", "and the origin")
}

/// A sentence for people has no control characters, whatever a website wrote.
func isOneLine(_ sentence: String) throws {
    let isPlain = sentence.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control && $0 != "\u{2028}" }
    try invariant(isPlain && !sentence.isEmpty, "a sentence is one line")
}
