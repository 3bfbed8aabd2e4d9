// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives

/// The kinds of members that both types of options have.
extension JSONCursor {
    /// Bytes in base64url.
    var bytes: [UInt8] {
        get throws {
            guard let bytes = Base64URL.decode(try text) else { throw OptionsError.notBase64URL(field: path) }
            return bytes
        }
    }

    /// The strings of an array.
    var texts: [String] { get throws { try elements.map { try $0.text } } }

    /// The member `challenge`, which must not be empty.
    var challenge: [UInt8] {
        get throws {
            let challenge = try member("challenge")
            let bytes = try challenge.bytes
            guard !bytes.isEmpty else { throw OptionsError.invalid(field: challenge.path, because: "is empty") }
            return bytes
        }
    }

    /// An array of `PublicKeyCredentialDescriptorJSON` without entries that match no passkey: those of unknown types,
    /// which WebAuthn ignores, and those with an ID of 0 or more than 1,023 bytes.
    var descriptors: [CredentialDescriptor] {
        get throws {
            let all = try elements.map { json in
                let id = CredentialID(bytes: try json.member("id").bytes)
                let type = try json.member("type").text
                let transports = try json.memberIfPresent("transports")?.texts ?? []
                return id.map { CredentialDescriptor(id: $0, type: type, transports: transports) }
            }
            return all.compactMap(\.self).filter(\.isPublicKey)
        }
    }

    /// The algorithms of `pubKeyCredParams` without unknown types.
    var algorithms: [COSEAlgorithm] {
        get throws {
            let all = try elements.map { (type: try $0.member("type").text, id: try $0.member("alg").integer()) }
            let known = all.filter { $0.type == CredentialDescriptor.publicKeyType }
            guard all.isEmpty || !known.isEmpty else {
                throw OptionsError.unsupported(field: path, because: "has no entry of type public-key")
            }
            // The default of WebAuthn Level 3 §5.1.3.
            return all.isEmpty ? [.es256, .rs256] : known.map { COSEAlgorithm(rawValue: $0.id) }
        }
    }

    /// Checks the type of `hints`, which have no effect: this client uses phones only.
    func checkHints() throws { _ = try memberIfPresent("hints")?.texts }

    /// The handle of an account, which has a limited length.
    fileprivate var userHandle: UserHandle {
        get throws {
            guard let handle = UserHandle(bytes: try bytes) else {
                throw OptionsError.invalid(field: path, because: "must have 1 to \(UserHandle.maximumLength) bytes")
            }
            return handle
        }
    }
}

extension UserEntity {
    /// Reads a `PublicKeyCredentialUserEntityJSON`.
    init(_ json: JSONCursor) throws {
        self.init(
            id: try json.member("id").userHandle,
            name: try json.member("name").text,
            displayName: try json.member("displayName").text
        )
    }
}
