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
    private let procedure: ResponseRejection.Procedure
    private let response: JSONText

    /// True if the client reports that the credential is discoverable; `nil` if it reports nothing.
    let isDiscoverable: Bool?

    /// Reads a response and checks its form.
    init(_ json: [UInt8], in procedure: ResponseRejection.Procedure) throws(ResponseRejection) {
        self.procedure = procedure
        guard json.count <= Self.maximumBytes, let members = JSONText(decodingUTF8: json),
            let response = members.member("response"), response.isObject, let name = members.member("id")?.text,
            let type = members.member("type")?.text
        else { throw ResponseRejection(.malformedResponse, in: procedure) }
        self.response = response
        guard name == members.member("rawId")?.text, let bytes = Base64URL.decode(name),
            let id = CredentialID(bytes: bytes)
        else { throw ResponseRejection(.malformedCredentialID, in: procedure) }
        self.id = id
        guard type == CredentialDescriptor.publicKeyType else {
            throw ResponseRejection(.otherCredentialType, in: procedure)
        }
        let results = members.member("clientExtensionResults")
        isDiscoverable =
            if case .boolean(let flag)? = results?.member("credProps")?.member("rk") { flag } else { nil }
    }

    /// Returns the bytes of a member of `response`; `nil` if it is absent or null.
    func optionalBytes(_ name: String) throws(ResponseRejection) -> [UInt8]? {
        switch response.member(name) {
        case nil, .null?: return nil
        case .string(let text)?:
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
    var transports: [String] { (response.member("transports")?.elements ?? []).compactMap(\.text) }
}

extension JSONText {
    /// Creates a value from JSON after *UTF-8 decode* (WebAuthn Level 3 §7.1 step 5); `nil` if it is not strict JSON.
    ///
    /// *UTF-8 decode* removes a byte order mark, and replaces malformed sequences by U+FFFD.
    init?(decodingUTF8 bytes: [UInt8]) {
        let text = String(decoding: bytes.withoutByteOrderMark, as: UTF8.self)
        try? self.init(parsing: Array(text.utf8))
    }
}
