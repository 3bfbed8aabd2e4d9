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

    /// An array of `PublicKeyCredentialDescriptorJSON` without unknown types, which WebAuthn ignores.
    var descriptors: [CredentialDescriptor] {
        get throws {
            let all = try elements.map { json in
                CredentialDescriptor(
                    id: try json.member("id").id(),
                    type: try json.member("type").text,
                    transports: try json.memberIfPresent("transports")?.texts ?? []
                )
            }
            return all.filter(\.isPublicKey)
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

    /// Returns an ID of limited length.
    fileprivate func id<ID: LimitedBytes>() throws -> ID {
        guard let id = ID(bytes: try bytes) else {
            throw OptionsError.invalid(field: path, because: "must have 1 to \(ID.maximumLength) bytes")
        }
        return id
    }
}

/// A type that holds at least one byte and at most `maximumLength` bytes.
private protocol LimitedBytes {
    static var maximumLength: Int { get }
    init?(bytes: [UInt8])
}

extension CredentialID: LimitedBytes {}
extension UserHandle: LimitedBytes {}

extension UserEntity {
    /// Reads a `PublicKeyCredentialUserEntityJSON`.
    init(_ json: JSONCursor) throws {
        self.init(
            id: try json.member("id").id(),
            name: try json.member("name").text,
            displayName: try json.member("displayName").text
        )
    }
}
