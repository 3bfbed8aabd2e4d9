// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HybridCTAP
import HybridPrimitives
import HybridWebAuthn
import TestSupport

@testable import HybridRelyingParty

/// Tests a registration response: it is rejected with a paragraph, or its record is the signed one.
///
/// The ceremony's challenge is fixed, so that inputs can pass its check.
func fuzzRegistration(_ input: [UInt8]) throws -> Bool {
    try json(input)
    let pending = PendingRegistration(
        challenge: challenge,
        user: UserEntity(id: try present(UserHandle(bytes: [1]), "a handle"), name: "", displayName: ""),
        algorithms: [.es256, .edDSA, .rs256],
        userVerification: .preferred,
        isConditional: false,
        optionsJSON: []
    )
    let response: RegistrationResponse
    do throws(ResponseRejection) {
        response = try RegistrationResponse(json: input)
    } catch {
        try rejection(error, .registration)
        return false
    }
    try invariant(response.transports.count <= 16, "transports are bounded")
    let party = try website.get()
    let record: CredentialRecord
    do throws(ResponseRejection.Cause) {
        record = try party.checkedRecord(response, pending).record
    } catch {
        try rejection(ResponseRejection(error, in: .registration), .registration)
        return false
    }
    let data = response.attestationObject.authenticatorData
    try invariant(data.attestedCredential?.id == record.id, "the record has the signed ID")
    try invariant(data.attestedCredential?.publicKey == record.publicKey, "the record has the signed key")
    try invariant(data.flags.contains(.userPresent), "the user was present")
    try invariant(record.isBackupEligible || !record.isBackedUp, "backup flags do not contradict each other")
    try clientData(response.clientData, "webauthn.create")
    return true
}

/// Tests a sign-in response: it is rejected with a paragraph, or would be accepted with a right signature.
func fuzzAuthentication(_ input: [UInt8]) throws -> Bool {
    try json(input)
    let response: AuthenticationResponse
    do throws(ResponseRejection) {
        response = try AuthenticationResponse(json: input)
    } catch {
        try rejection(error, .authentication)
        return false
    }
    let pending = PendingAuthentication(
        challenge: challenge,
        user: nil,
        allowed: [response.credentialID],
        userVerification: .preferred,
        optionsJSON: []
    )
    let key = try COSEKey(parsing: publicKey)
    let record = CredentialRecord(
        id: response.credentialID,
        userHandle: try present(response.userHandle ?? UserHandle(bytes: [1]), "a handle"),
        publicKey: key,
        signatureCount: 0,
        isUserVerificationInitialized: false,
        transports: [],
        isBackupEligible: response.authenticatorData.flags.contains(.backupEligible),
        isBackedUp: false
    )
    let party = try website.get()
    do throws(ResponseRejection) {
        _ = try party.verify(response, for: pending, stored: record)
    } catch {
        try rejection(error, .authentication)
        // The fuzzer cannot sign, so a wrong signature is the best that it reaches.
        guard error.cause == .wrongSignature else { return false }
    }
    try clientData(response.clientData, "webauthn.get")
    return true
}

private let challenge = Challenge(bytes: [UInt8](repeating: 0, count: 32))

/// An ES256 key: the generator of the curve P-256.
private let publicKey: [UInt8] =
    [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]
    + [
        0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2, 0x77, 0x03,
        0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
    ] + [0x22, 0x58, 0x20]
    + [
        0x4F, 0xE3, 0x42, 0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16, 0x2B, 0xCE,
        0x33, 0x57, 0x6B, 0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
    ]

private let website = Result {
    try RelyingParty(
        id: try present(RelyingPartyID("example.com"), "a domain"),
        name: "Example",
        origins: [Origin("https://example.com")]
    )
}

private func rejection(_ error: ResponseRejection, _ procedure: ResponseRejection.Procedure) throws {
    try invariant(error.procedure == procedure && error.paragraph.hasPrefix("§"), "a rejection has a paragraph")
}

/// Tests that accepted client data passes each step in another parser's reading.
private func clientData(_ data: CollectedClientData, _ type: String) throws {
    struct Members: Decodable {
        let type: String
        let challenge: String
        let origin: String
        let crossOrigin: Bool?
    }
    guard !hasSurrogate(data.json) else { return }
    let text = String(decoding: data.json, as: UTF8.self)
    let plain = text.hasPrefix("\u{FEFF}") ? text.unicodeScalars.dropFirst().map(String.init).joined() : text
    let members = try JSONDecoder().decode(Members.self, from: Data(plain.utf8))
    try invariant(members.type == type, "the type is that of the ceremony")
    try invariant(members.challenge == challenge.text, "the challenge is that of the ceremony")
    try invariant(members.origin == "https://example.com" && members.crossOrigin != true, "the origin is the website's")
}

/// Returns true if a surrogate may be escaped, which Foundation rejects without its pair.
private func hasSurrogate(_ input: [UInt8]) -> Bool {
    let digits = input.split(separator: UInt8(ascii: "u")).dropFirst()
    return digits.contains { $0.starts(with: "d".utf8) || $0.starts(with: "D".utf8) }
}

/// Tests that Foundation reads whatever the strict reader accepts, and that nothing is deeper than the limit.
private func json(_ input: [UInt8]) throws {
    guard let value = JSONText(decodingUTF8: input), value.isObject || value.elements != nil,
        String(validating: input, as: UTF8.self) != nil, !input.starts(with: [0xEF, 0xBB, 0xBF]), !hasSurrogate(input)
    else { return }
    struct Anything: Decodable {
        init(from decoder: any Decoder) throws {}
    }
    try invariant((try? JSONDecoder().decode(Anything.self, from: Data(input))) != nil, "accepted text is JSON")
}
