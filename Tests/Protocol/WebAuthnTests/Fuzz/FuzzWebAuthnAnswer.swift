// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import HybridCTAP
import HybridPrimitives
import HybridWebAuthn
import TestSupport

/// A phone with known and unknown transports.
private let phone = AuthenticatorInfo(
    versions: ["FIDO_2_0"],
    aaguid: .zero,
    options: ["rk": true],
    transports: ["internal", "cable", "usb", "\"", ""]
)

/// Tests a phone's response: the result is JSON, is for this website, and matches the phone's response.
///
/// The first byte selects the request.
func fuzzWebAuthnAnswer(_ input: [UInt8]) throws -> Bool {
    guard let kind = input.first else { return false }
    let body = Array(input.dropFirst())
    let questions = try questions.get()
    let question = questions[Int(kind) % questions.count]
    let json: [UInt8]
    do throws(ResponseCheckError) {
        json = try question.responseJSON(body: body, phone: phone)
    } catch {
        try isOneLine(error.sentence)
        return false
    }
    let answer = try JSONDecoder().decode(Answer.self, from: Data(json))
    try invariant(answer.id == answer.rawId && answer.type == "public-key", "the response contains the credential ID")
    let data = try AuthenticatorData(parsing: try answer.response.authenticatorData.bytes())
    try invariant(
        data.relyingPartyIDHash.bytes == Array(SHA256.hash(data: Array("example.com".utf8))),
        "the response is for this website"
    )
    try invariant(data.flags.contains(.userPresent), "the user was present")
    if let results = answer.clientExtensionResults.prf?.results {
        let lengths = try results.values.map { try $0.bytes().count }
        try invariant((1...2).contains(lengths.count) && lengths.allSatisfy { $0 == 32 }, "prf gives 32 bytes each")
    }
    switch question {
    case .creation(let ceremony):
        try invariant(
            try answer.response.clientDataJSON.bytes() == ceremony.clientData.json,
            "the client data is that of the request"
        )
        try creation(answer, data, try MakeCredentialResponse(parsing: body))
    case .request(let ceremony):
        try invariant(
            try answer.response.clientDataJSON.bytes() == ceremony.clientData.json,
            "the client data is that of the request"
        )
        try request(answer, ceremony.ctapRequest, try GetAssertionResponse(parsing: body))
    }
    return true
}

private func creation(_ answer: Answer, _ data: AuthenticatorData, _ response: MakeCredentialResponse) throws {
    try invariant(data.encoded == response.authenticatorData.encoded, "signed data is preserved byte for byte")
    let credential = try present(data.attestedCredential, "a registration contains a credential")
    try invariant(try answer.id.bytes() == credential.id.bytes, "the response contains the credential ID")
    let object = try AttestationObject(
        parsing: try present(answer.response.attestationObject, "there is an attestation object").bytes()
    )
    try invariant(object.authenticatorData == data, "the attestation object has the same authenticator data")
    try invariant(answer.response.transports == ["hybrid", "internal", "usb"], "transports have plain names")
    try invariant(
        answer.response.publicKeyAlgorithm == credential.publicKey.algorithm.rawValue,
        "the algorithm is included"
    )
    guard let key = credential.publicKey.p256 else { return }
    let der = try present(answer.response.publicKey, "an ES256 key is included").bytes()
    try invariant(der == Array(key.derRepresentation), "the key is the same as from another library")
}

private func request(_ answer: Answer, _ request: GetAssertionRequest, _ response: GetAssertionResponse) throws {
    let allowed = request.allowList.map(\.id.bytes)
    try invariant(allowed.isEmpty || allowed.contains(try answer.id.bytes()), "the credential is allowed")
    let signature = try present(answer.response.signature, "the response is signed").bytes()
    try invariant(!signature.isEmpty && signature == response.signature, "the response is signed")
    try invariant(try answer.response.userHandle?.bytes() == response.user?.id.bytes, "the user handle is included")
    try invariant(!allowed.isEmpty || response.user != nil, "a response without an allow list has a user handle")
}

/// Requests: registrations with few and many options, sign-ins with and without an allow list, and both types with
/// extensions.
private let questions = Result {
    let user = #""user":{"id":"CQgH","name":"ada","displayName":"Ada"}"#
    let site = #""rp":{"id":"example.com","name":"Example"}"#
    let algorithms = [-7, -8, -257].map { #"{"type":"public-key","alg":\#($0)}"# }.joined(separator: ",")
    let all = #""attestation":"direct","extensions":{"credProps":true},"authenticatorSelection":"#
    let extensions = #""extensions":{"prf":{"eval":{"first":"AA","second":"AAE"}},"#
    return try [
        #""challenge":"AAEC",\#(site),\#(user),"pubKeyCredParams":[\#(algorithms)]"#,
        #""challenge":"AAEC",\#(site),\#(user),"pubKeyCredParams":[],\#(all){"residentKey":"required"}"#,
        #""challenge":"AAEC","rpId":"example.com","allowCredentials":[{"type":"public-key","id":"yv4"}]"#,
        #""challenge":"AAEC","rpId":"example.com","userVerification":"required""#,
        #""challenge":"AAEC",\#(site),\#(user),"pubKeyCredParams":[],"attestation":"direct",\#(extensions)"#
            + #""largeBlob":{"support":"preferred"}}"#,
        #""challenge":"AAEC","allowCredentials":[{"type":"public-key","id":"yv4"}],"rpId":"example.com",\#(extensions)"#
            + #""largeBlob":{"read":true}}"#,
    ].map { members in
        let options = try PublicKeyOptions(json: Array(#"{"publicKey":{\#(members)}}"#.utf8))
        return try Ceremony(options, origin: try Origin("https://login.example.com"))
    }
}

/// `RegistrationResponseJSON` and `AuthenticationResponseJSON` together.
private struct Answer: Decodable {
    let id: Encoded
    let rawId: Encoded
    let type: String
    let response: Response
    let clientExtensionResults: Results

    struct Results: Decodable {
        let prf: PRF?

        struct PRF: Decodable {
            let results: [String: Encoded]?
        }
    }

    struct Response: Decodable {
        let clientDataJSON: Encoded
        let authenticatorData: Encoded
        let transports: [String]?
        let publicKey: Encoded?
        let publicKeyAlgorithm: Int?
        let attestationObject: Encoded?
        let signature: Encoded?
        let userHandle: Encoded?
    }

    struct Encoded: Decodable, Equatable {
        let text: String

        init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

        func bytes() throws -> [UInt8] { try present(Base64URL.decode(text), "bytes are base64url") }
    }
}
