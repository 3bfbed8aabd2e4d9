// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import Testing

/// Well-formed values, which tests modify.
enum Samples {
    static func hash() throws -> ClientDataHash { try #require(ClientDataHash(bytes: 0..<32)) }

    static func credentialID(_ first: UInt8 = 1) throws -> CredentialID {
        try #require(CredentialID(bytes: [first, 2, 3, 4]))
    }

    static func user() throws -> UserEntity {
        UserEntity(id: try #require(UserHandle(bytes: [9, 8, 7])), name: "ada@example.com", displayName: "Ada")
    }

    static func relyingParty() throws -> RelyingPartyEntity {
        RelyingPartyEntity(id: try #require(RelyingPartyID("example.com")), name: "Example")
    }

    static func creation() throws -> MakeCredentialRequest {
        MakeCredentialRequest(
            clientDataHash: try hash(),
            relyingParty: try relyingParty(),
            user: try user(),
            algorithms: [.es256, .rs256],
            excludeList: [CredentialDescriptor(id: try credentialID(), transports: ["hybrid"])],
            extensions: ["credProtect": 2],
            residentKey: true,
            userVerification: true
        )
    }

    static func request() throws -> GetAssertionRequest {
        GetAssertionRequest(
            relyingPartyID: try relyingParty().id,
            clientDataHash: try hash(),
            allowList: [CredentialDescriptor(id: try credentialID())],
            extensions: ["prf": .map([:])],
            userVerification: true
        )
    }

    /// Parameters of a creation request.
    static func creationMap() throws -> CBORMap {
        try map(of: CTAPRequest.makeCredential(creation()).encoded.dropFirst())
    }

    /// Parameters of a sign-in request.
    static func requestMap() throws -> CBORMap {
        try map(of: CTAPRequest.getAssertion(request()).encoded.dropFirst())
    }

    static func map(of bytes: some Sequence<UInt8>) throws -> CBORMap {
        try #require(try CBORDecoder.decode(bytes, mode: .strict).map)
    }

    static let key = P256.Signing.PrivateKey()

    static func attested() throws -> AttestedCredential {
        AttestedCredential(aaguid: .zero, id: try credentialID(), publicKey: COSEKey(key.publicKey))
    }

    static func authenticatorData(attested: AttestedCredential?, extensions: CBORMap? = nil) throws -> AuthenticatorData
    {
        AuthenticatorData(
            relyingPartyIDHash: try relyingParty().id.hash,
            flags: [.userPresent, .userVerified],
            signatureCount: 0x0102_0304,
            attestedCredential: attested,
            extensions: extensions
        )
    }

    static func created() throws -> MakeCredentialResponse {
        MakeCredentialResponse(
            authenticatorData: try authenticatorData(attested: attested()),
            unsignedExtensionOutputs: ["prf": ["enabled": true]]
        )
    }

    static func assertion() throws -> GetAssertionResponse {
        GetAssertionResponse(
            credential: CredentialDescriptor(id: try credentialID()),
            authenticatorData: try authenticatorData(attested: nil),
            signature: [0x30, 0x00],
            user: try user(),
            numberOfCredentials: 1,
            userSelected: true,
            unsignedExtensionOutputs: ["prf": .map([:])]
        )
    }
}

/// Returns the error for a request.
func refusal(_ bytes: [UInt8]) -> CTAPRequestError? {
    do throws(CTAPRequestError) {
        _ = try CTAPRequest(parsing: bytes)
        return nil
    } catch {
        return error
    }
}

/// Returns the error for a creation request with these parameters.
func creationRefusal(_ map: CBORMap) -> CTAPRequestError? { refusal([1] + CBOREncoder.encode(map)) }

/// Returns the error for a sign-in request with these parameters.
func assertionRefusal(_ map: CBORMap) -> CTAPRequestError? { refusal([2] + CBOREncoder.encode(map)) }
