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

/// An integer whose errors always contain the path.
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
        guard !bytes.isEmpty else { throw OptionsError.invalid(field: decoder.codingPath.field, because: "is empty") }
    }
}

/// An ID of limited length.
struct IDField<ID: LimitedBytes>: Decodable {
    let value: ID

    init(from decoder: any Decoder) throws {
        guard let value = ID(bytes: try BytesField(from: decoder).bytes) else {
            let reason = "must have 1 to \(ID.maximumLength) bytes"
            throw OptionsError.invalid(field: decoder.codingPath.field, because: reason)
        }
        self.value = value
    }
}

/// A type that holds at least one byte and at most `maximumLength` bytes.
protocol LimitedBytes {
    static var maximumLength: Int { get }
    init?(bytes: [UInt8])
}

extension CredentialID: LimitedBytes {}
extension UserHandle: LimitedBytes {}

/// `PublicKeyCredentialUserEntityJSON`.
struct UserField: Decodable {
    let id: IDField<UserHandle>
    let name: String
    let displayName: String

    var entity: UserEntity { UserEntity(id: id.value, name: name, displayName: displayName) }
}

/// `PublicKeyCredentialDescriptorJSON`.
struct DescriptorField: Decodable {
    let id: IDField<CredentialID>
    let type: String
    let transports: [String]?

    /// The descriptor; `nil` for unknown types, which WebAuthn ignores.
    var descriptor: CredentialDescriptor? {
        let descriptor = CredentialDescriptor(id: id.value, type: type, transports: transports ?? [])
        return descriptor.isPublicKey ? descriptor : nil
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
            let reason = "has no entry of type public-key"
            throw OptionsError.unsupported(field: decoder.codingPath.field, because: reason)
        }
        // The default of WebAuthn Level 3 §5.1.3.
        algorithms = all.isEmpty ? [.es256, .rs256] : known.map { COSEAlgorithm(rawValue: $0.alg.value) }
    }
}
