// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import HybridCTAP
import HybridPrimitives
import HybridWebAuthn
import TestSupport
import Testing

/// A website's JSON, as text so that tests can show their changes.
enum Fixture {
    static let challenge = "AAECAwQFBgcICQoLDA0ODw"

    static func creation(
        _ changes: [String: String?] = [:]
    ) -> String {
        var members: [String: String?] = [
            "rp": #"{"id":"example.com","name":"Example"}"#,
            "user": #"{"id":"CQgH","name":"ada@example.com","displayName":"Ada"}"#,
            "challenge": "\"\(challenge)\"",
            "pubKeyCredParams": #"[{"type":"public-key","alg":-7},{"type":"public-key","alg":-257}]"#,
        ]
        for (name, value) in changes { members[name] = .some(value) }
        return object(members)
    }

    static func request(_ changes: [String: String?] = [:]) -> String {
        var members: [String: String?] = ["rpId": "\"example.com\"", "challenge": "\"\(challenge)\""]
        for (name, value) in changes { members[name] = .some(value) }
        return object(members)
    }

    private static func object(_ members: [String: String?]) -> String {
        let texts = members.sorted { $0.key < $1.key }.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
        return "{\"publicKey\":{" + texts.joined(separator: ",") + "}}"
    }

    static func creationOptions(_ changes: [String: String?] = [:]) throws -> CreationOptions {
        guard case .creation(let options) = try PublicKeyOptions(json: Array(creation(changes).utf8)) else {
            throw OtherKind()
        }
        return options
    }

    static func requestOptions(_ changes: [String: String?] = [:]) throws -> RequestOptions {
        guard case .request(let options) = try PublicKeyOptions(json: Array(request(changes).utf8)) else {
            throw OtherKind()
        }
        return options
    }

    struct OtherKind: Error {}

    static func origin() throws -> Origin { try Origin("https://login.example.com") }

    static func credentialID() throws -> CredentialID { try #require(CredentialID(bytes: [0xCA, 0xFE])) }

    /// Returns a phone with or without support of discoverable passkeys.
    static func phone(transports: [String] = [], options: [String: Bool] = ["rk": true]) -> AuthenticatorInfo {
        AuthenticatorInfo(versions: ["FIDO_2_0"], aaguid: .zero, options: options, transports: transports)
    }

    static let flags: AuthenticatorData.Flags = [.userPresent, .userVerified, .backupEligible, .backedUp]
    static let aaguid = AAGUID(bytes: 1...16)

    /// Returns a phone's response to a registration.
    static func created(
        _ key: P256.Signing.PrivateKey,
        relyingParty: String = "example.com",
        flags: AuthenticatorData.Flags = Self.flags
    ) throws -> MakeCredentialResponse {
        MakeCredentialResponse(
            authenticatorData: AuthenticatorData(
                relyingPartyIDHash: try #require(RelyingPartyID(relyingParty)).hash,
                flags: flags,
                signatureCount: 0,
                attestedCredential: AttestedCredential(
                    aaguid: try #require(aaguid),
                    id: try credentialID(),
                    publicKey: COSEKey(key.publicKey)
                )
            )
        )
    }

    /// Returns a phone's response to a sign-in.
    static func assertion(
        _ key: P256.Signing.PrivateKey,
        hash: ClientDataHash,
        relyingParty: String = "example.com",
        flags: AuthenticatorData.Flags = Self.flags
    ) throws -> GetAssertionResponse {
        let data = AuthenticatorData(
            relyingPartyIDHash: try #require(RelyingPartyID(relyingParty)).hash,
            flags: flags,
            signatureCount: 0
        )
        return GetAssertionResponse(
            credential: CredentialDescriptor(id: try credentialID()),
            authenticatorData: data,
            signature: Array(try key.signature(for: data.encoded + hash.bytes).derRepresentation),
            user: UserEntity(id: try #require(UserHandle(bytes: [9, 8, 7])), name: "", displayName: "")
        )
    }

    /// Reads a response like a website's server.
    static func read(_ json: [UInt8]) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(json))
    }
}

extension JSONValue {
    /// Returns the bytes of a base64url member.
    func base64(_ key: String) throws -> [UInt8] { try #require(Base64URL.decode(try text(key))) }
}

/// Returns the error of reading options.
func optionsError(_ json: String) -> OptionsError? {
    do throws(OptionsError) {
        _ = try PublicKeyOptions(json: Array(json.utf8))
        return nil
    } catch {
        return error
    }
}

/// Expects that a response is malformed.
func expectMalformed(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
    do {
        try body()
        Issue.record("no error", sourceLocation: sourceLocation)
    } catch let error as ResponseCheckError where error.parseError != nil {
        // Expected.
    } catch {
        Issue.record("another error: \(error)", sourceLocation: sourceLocation)
    }
}
