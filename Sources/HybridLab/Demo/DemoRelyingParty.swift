// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives

/// A website's server, which creates the options for `navigator.credentials` and verifies the responses.
struct DemoRelyingParty {
    private let origin: String
    private let host: String
    private let userHandle = Self.random(16)
    private var challenge: [UInt8] = []
    private var registered: (id: String, key: P256.Signing.PublicKey)?

    init(origin: String) {
        self.origin = origin
        host = String(origin.dropFirst("https://".count))
    }

    mutating func creationOptions() -> [UInt8] {
        challenge = Self.random(32)
        return Array(
            """
            {"publicKey": {"rp": {"id": "\(host)", "name": "A shop"},
              "user": {"id": "\(Base64URL.encode(userHandle))", "name": "ada@example.com", "displayName": "Ada"},
              "challenge": "\(Base64URL.encode(challenge))", "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
              "authenticatorSelection": {"residentKey": "required", "userVerification": "required"}}}
            """.utf8
        )
    }

    /// Returns options for a sign-in.
    ///
    /// - Parameter namesPasskey: True if the options name the registered passkey, as a site does for a known user.
    mutating func requestOptions(namesPasskey: Bool = false) -> [UInt8] {
        challenge = Self.random(32)
        let allowed = registered.map { #"{"type": "public-key", "id": "\#($0.id)"}"# }
        let list = namesPasskey ? #", "allowCredentials": [\#(allowed ?? "")]"# : ""
        return Array(
            """
            {"publicKey": {"rpId": "\(host)", "challenge": "\(Base64URL.encode(challenge))", "userVerification": "required"\(list)}}
            """.utf8
        )
    }

    /// Verifies a registration and stores its key.
    ///
    /// - Returns: A name of the credential for the narration.
    mutating func verifyRegistration(_ json: [UInt8]) throws -> String {
        let answer = try JSONDecoder().decode(Answer.self, from: Data(json))
        try check(answer, type: "webauthn.create")
        let object = try AttestationObject(parsing: Self.bytes(answer.response.attestationObject))
        try check(object.authenticatorData)
        guard let credential = object.authenticatorData.attestedCredential, let key = credential.publicKey.p256,
            Base64URL.encode(credential.id.bytes) == answer.id
        else { throw Self.failure("it contains no key") }
        registered = (answer.id, key)
        return "credential \(answer.id.prefix(8))…"
    }

    /// Verifies a sign-in with the stored key.
    ///
    /// - Returns: The account's name.
    func verifySignIn(_ json: [UInt8]) throws -> String {
        let answer = try JSONDecoder().decode(Answer.self, from: Data(json))
        try check(answer, type: "webauthn.get")
        guard let registered, registered.id == answer.id else { throw Self.failure("it is by another passkey") }
        let data = try Self.bytes(answer.response.authenticatorData)
        try check(try AuthenticatorData(parsing: data))
        let signed = data + Array(SHA256.hash(data: try Self.bytes(answer.response.clientDataJSON)))
        let signature = try P256.Signing.ECDSASignature(derRepresentation: Self.bytes(answer.response.signature))
        guard registered.key.isValidSignature(signature, for: signed) else {
            throw Self.failure("the signature is wrong")
        }
        // A phone omits the account if the request names the passkey.
        guard try answer.response.userHandle.map(Self.bytes) ?? userHandle == userHandle else {
            throw Self.failure("it is another account")
        }
        return "ada@example.com"
    }

    private func check(_ answer: Answer, type: String) throws {
        let bytes = try Self.bytes(answer.response.clientDataJSON)
        let clientData = try JSONDecoder().decode(ClientDataFields.self, from: Data(bytes))
        guard clientData.type == type, clientData.origin == origin else { throw Self.failure("it is for another site") }
        guard clientData.challenge == Base64URL.encode(challenge) else {
            throw Self.failure("it answers another challenge")
        }
    }

    private func check(_ data: AuthenticatorData) throws {
        guard data.relyingPartyIDHash == RelyingPartyID(host)?.hash else {
            throw Self.failure("it is for another RP ID")
        }
        guard data.flags.isSuperset(of: [.userPresent, .userVerified]) else {
            throw Self.failure("the user was not verified")
        }
    }

    private struct Answer: Decodable {
        struct Response: Decodable {
            let clientDataJSON: String
            let attestationObject: String?
            let authenticatorData: String?
            let signature: String?
            let userHandle: String?
        }
        let id: String
        let response: Response
    }

    private struct ClientDataFields: Decodable {
        let type: String
        let challenge: String
        let origin: String
    }

    private static func failure(_ text: String) -> CommandFailure {
        CommandFailure("the site rejects the response: \(text)", status: .software)
    }

    private static func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: .min ... .max) } }

    private static func bytes(_ text: String?) throws -> [UInt8] {
        guard let text else { throw failure("a field is missing") }
        guard let bytes = Base64URL.decode(text) else { throw failure("a field is not base64url") }
        return bytes
    }
}
