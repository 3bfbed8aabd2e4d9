// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HybridCTAP
internal import HybridPrimitives

/// The members that `RegistrationResponseJSON` and `AuthenticationResponseJSON` share (WebAuthn Level 3 §5.1).
///
/// Other members, such as `publicKey`, repeat parts of the signed data for websites without a CBOR parser. They are
/// ignored, because only the signed data counts.
struct ResponseMembers<Response: Decodable>: Decodable {
    let id: String
    let rawId: String
    let type: String
    let response: Response
    let clientExtensionResults: ExtensionResults?

    struct ExtensionResults: Decodable {
        let credProps: CredentialProperties?
    }

    struct CredentialProperties: Decodable {
        let rk: Bool?
    }

    /// Decodes a response of at most ``ResponseLimit/bytes`` bytes and checks its form.
    static func decode(
        _ json: [UInt8],
        in procedure: ResponseRejection.Procedure
    ) throws(ResponseRejection) -> (members: Self, id: CredentialID) {
        guard json.count <= ResponseLimit.bytes, let members = try? JSONDecoder().decode(Self.self, from: Data(json))
        else { throw ResponseRejection(.malformedResponse, in: procedure) }
        guard members.id == members.rawId, let bytes = Base64URL.decode(members.id),
            let id = CredentialID(bytes: bytes)
        else { throw ResponseRejection(.malformedCredentialID, in: procedure) }
        guard members.type == CredentialDescriptor.publicKeyType else {
            throw ResponseRejection(.otherCredentialType, in: procedure)
        }
        return (members, id)
    }
}

/// The bound for hostile responses.
enum ResponseLimit {
    /// Maximum length of the JSON in bytes; certificates and large blobs need a few thousand.
    static let bytes = 1 << 17
}

extension ResponseRejection.Procedure {
    /// Returns the bytes of a base64url member.
    func bytes(_ text: String) throws(ResponseRejection) -> [UInt8] {
        guard let bytes = Base64URL.decode(text) else { throw ResponseRejection(.malformedResponse, in: self) }
        return bytes
    }

    /// Returns the client data of a base64url member.
    func clientData(_ text: String) throws(ResponseRejection) -> CollectedClientData {
        guard let data = CollectedClientData(json: try bytes(text)) else {
            throw ResponseRejection(.malformedClientData, in: self)
        }
        return data
    }
}
