// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives

/// The members that `RegistrationResponseJSON` and `AuthenticationResponseJSON` share (WebAuthn Level 3 §5.1).
///
/// Other members, such as `publicKey`, repeat parts of the signed data for websites without a CBOR parser. They are
/// ignored, because only the signed data counts.
struct ResponseMembers {
    /// Maximum length of the JSON in bytes; certificates and large blobs need a few thousand.
    static let maximumBytes = 1 << 17

    let id: CredentialID
    let clientExtensionResults: [String: JSONItem]
    private let procedure: ResponseRejection.Procedure
    private let response: [String: JSONItem]

    /// Reads a response and checks its form.
    init(_ json: [UInt8], in procedure: ResponseRejection.Procedure) throws(ResponseRejection) {
        self.procedure = procedure
        guard json.count <= Self.maximumBytes, let members = JSONItem(utf8: json)?.members,
            let response = members["response"]?.members, let name = members["id"]?.text,
            let type = members["type"]?.text
        else { throw ResponseRejection(.malformedResponse, in: procedure) }
        self.response = response
        guard name == members["rawId"]?.text, let bytes = Base64URL.decode(name), let id = CredentialID(bytes: bytes)
        else { throw ResponseRejection(.malformedCredentialID, in: procedure) }
        self.id = id
        guard type == CredentialDescriptor.publicKeyType else {
            throw ResponseRejection(.otherCredentialType, in: procedure)
        }
        clientExtensionResults = members["clientExtensionResults"]?.members ?? [:]
    }

    /// Returns the bytes of a member of `response`; `nil` if it is absent or null.
    func optionalBytes(_ name: String) throws(ResponseRejection) -> [UInt8]? {
        switch response[name] {
        case .none, .null: return nil
        case .string(let text):
            if let bytes = Base64URL.decode(text) { return bytes }
        default: break
        }
        throw ResponseRejection(.malformedResponse, in: procedure)
    }

    /// Returns the bytes of a required member of `response`.
    func bytes(_ name: String) throws(ResponseRejection) -> [UInt8] {
        guard let bytes = try optionalBytes(name) else { throw ResponseRejection(.malformedResponse, in: procedure) }
        return bytes
    }

    /// Returns the client data.
    func clientData() throws(ResponseRejection) -> CollectedClientData {
        guard let data = CollectedClientData(json: try bytes("clientDataJSON")) else {
            throw ResponseRejection(.malformedClientData, in: procedure)
        }
        return data
    }

    /// The transports that the client reports; other elements are omitted.
    var transports: [String] { (response["transports"]?.elements ?? []).compactMap(\.text) }
}
