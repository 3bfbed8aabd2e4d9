// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives

/// Bytes in base64url.
struct BytesField: Decodable {
    let bytes: [UInt8]

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let bytes = Base64URL.decode(text) else {
            throw OptionsError.notBase64URL(field: decoder.codingPath.field)
        }
        self.bytes = bytes
    }
}

/// An integer.
///
/// The standard decoder does not report the path of a fraction or an overflow.
struct IntegerField: Decodable {
    let value: Int

    init(from decoder: any Decoder) throws {
        guard let value = try? decoder.singleValueContainer().decode(Int.self) else {
            throw OptionsError.wrongType(field: decoder.codingPath.field)
        }
        self.value = value
    }
}

/// A challenge, which must not be empty.
struct ChallengeField: Decodable {
    let bytes: [UInt8]

    init(from decoder: any Decoder) throws {
        bytes = try BytesField(from: decoder).bytes
        guard !bytes.isEmpty else {
            throw OptionsError.invalid(field: decoder.codingPath.field, because: "is empty")
        }
    }
}

/// `PublicKeyCredentialUserEntityJSON`.
struct UserField: Decodable {
    let entity: UserEntity

    private enum CodingKeys: String, CodingKey {
        case id
        case name
        case displayName
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let id = UserHandle(bytes: try container.decode(BytesField.self, forKey: .id).bytes) else {
            throw OptionsError.invalid(
                field: (decoder.codingPath + [CodingKeys.id]).field,
                because: "must have 1 to 64 bytes"
            )
        }
        entity = UserEntity(
            id: id,
            name: try container.decode(String.self, forKey: .name),
            displayName: try container.decode(String.self, forKey: .displayName)
        )
    }
}

/// `PublicKeyCredentialDescriptorJSON`, whose descriptor is `nil` for unknown types: WebAuthn ignores them.
struct DescriptorField: Decodable {
    let descriptor: CredentialDescriptor?

    private enum CodingKeys: String, CodingKey {
        case id
        case type
        case transports
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let bytes = try container.decode(BytesField.self, forKey: .id).bytes
        let type = try container.decode(String.self, forKey: .type)
        let transports = try container.decodeIfPresent([String].self, forKey: .transports) ?? []
        guard let id = CredentialID(bytes: bytes) else {
            throw OptionsError.invalid(
                field: (decoder.codingPath + [CodingKeys.id]).field,
                because: "must have 1 to \(CredentialID.maximumLength) bytes"
            )
        }
        let descriptor = CredentialDescriptor(id: id, type: type, transports: transports)
        self.descriptor = descriptor.isPublicKey ? descriptor : nil
    }
}

/// `pubKeyCredParams` without unknown types.
struct AlgorithmsField: Decodable {
    let algorithms: [COSEAlgorithm]

    private struct Parameters: Decodable {
        let type: String
        let alg: IntegerField
    }

    init(from decoder: any Decoder) throws {
        let all = try [Parameters](from: decoder)
        let known = all.filter { $0.type == CredentialDescriptor.publicKeyType }
        guard all.isEmpty || !known.isEmpty else {
            throw OptionsError.invalid(
                field: decoder.codingPath.field,
                because: "has no entry of type public-key",
                .notSupportedError
            )
        }
        // The default of WebAuthn Level 3 §5.1.3.
        algorithms = all.isEmpty ? [.es256, .rs256] : known.map { COSEAlgorithm(rawValue: $0.alg.value) }
    }
}
