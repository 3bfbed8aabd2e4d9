// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import TestSupport

/// Tests responses of an authenticator, whose type is the first byte.
func fuzzCTAPResponse(_ input: [UInt8]) throws -> Bool {
    guard let kind = input.first else { return false }
    let body = Array(input.dropFirst())
    switch kind {
    case 0:
        guard let response = try? MakeCredentialResponse(parsing: body) else { return false }
        try invariant(
            try MakeCredentialResponse(parsing: canonical(response.encoded)) == response,
            "a response survives the round trip"
        )
        let object = response.attestationObject
        try invariant(
            try AttestationObject(parsing: canonical(object.encoded)) == object,
            "its attestation object survives the round trip"
        )
    case 1:
        guard let response = try? GetAssertionResponse(parsing: body) else { return false }
        try invariant(
            try GetAssertionResponse(parsing: canonical(response.encoded)) == response,
            "a response survives the round trip"
        )
    case 2:
        guard let info = try? AuthenticatorInfo(parsing: body) else { return false }
        try invariant(
            try AuthenticatorInfo(parsing: canonical(info.encoded)) == info,
            "a description survives the round trip"
        )
    case 3:
        guard let data = try? AuthenticatorData(parsing: body) else { return false }
        try authenticatorData(data, body)
    case 4:
        guard let object = try? AttestationObject(parsing: body) else { return false }
        try invariant(
            try AttestationObject(parsing: canonical(object.encoded)) == object,
            "an attestation object survives the round trip"
        )
    case 5:
        guard let key = try? COSEKey(parsing: body) else { return false }
        try publicKey(key, body)
    default:
        guard let response = try? CTAPResponse(parsing: body) else { return false }
        try invariant(response.encoded == body, "a response is status and body")
        try invariant(!response.status.description.contains(where: \.isNewline), "a status is one line")
    }
    return true
}

/// Returns the bytes, which must be canonical.
private func canonical(_ encoded: [UInt8]) throws -> [UInt8] {
    let value = try? CBORDecoder.decode(encoded, mode: .strict)
    try invariant(value?.map != nil, "the encoding is canonical")
    return encoded
}

private func authenticatorData(_ data: AuthenticatorData, _ body: [UInt8]) throws {
    try invariant(data.encoded == body, "signed data is preserved byte for byte")
    let again = AuthenticatorData(
        relyingPartyIDHash: data.relyingPartyIDHash,
        flags: data.flags,
        signatureCount: data.signatureCount,
        attestedCredential: data.attestedCredential,
        extensions: data.extensions
    )
    try invariant(again.flags == data.flags, "flags match the contents")
    try invariant(try AuthenticatorData(parsing: again.encoded) == again, "authenticator data survives the round trip")
    try invariant(again.encoded.prefix(37) == body.prefix(37), "fixed parts are preserved")
    // A byte that is not UTF-8 becomes a character of three bytes, and may make a length one longer.
    let repaired = again.encoded.indices.count { again.encoded[$0...].starts(with: [0xEF, 0xBF, 0xBD]) }
    try invariant(again.encoded.count <= body.count + 4 * repaired, "the canonical form is not longer")
    if let credential = data.attestedCredential {
        try publicKey(credential.publicKey, credential.publicKey.encoded)
        try invariant(body.dropFirst(37).starts(with: credential.encoded), "the credential follows the counter")
    }
}

private func publicKey(_ key: COSEKey, _ body: [UInt8]) throws {
    try invariant(key.encoded == body, "a key is preserved byte for byte")
    try invariant((key.algorithm == .es256) == (key.x963Representation != nil), "an ES256 key has its point")
    guard key.algorithm == .es256 else { return }
    let again = COSEKey(try present(key.p256, "an ES256 key is usable"))
    try invariant(again.x963Representation == key.x963Representation, "the canonical form has the same point")
    try invariant(try COSEKey(parsing: canonical(again.encoded)) == again, "the canonical form survives the round trip")
}
