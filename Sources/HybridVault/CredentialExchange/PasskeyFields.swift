// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCTAP
internal import HybridPrimitives

/// A credential of type `passkey` with valid members.
struct PasskeyFields {
    let id: CredentialID
    let relyingParty: RelyingPartyID
    let user: UserEntity
    let key: P256.Signing.PrivateKey
    /// Secrets of `hmac-secret` with and without user verification, 32 bytes each.
    private(set) var secrets: (verified: [UInt8], other: [UInt8]?)?
    private(set) var foreign = ForeignExtensions()
    /// Names of members that cannot be kept.
    private(set) var lost: [String] = []

    private enum CodingKeys: String, CodingKey {
        case credentialId
        case rpId
        case username
        case userDisplayName
        case userHandle
        case key
        case fido2Extensions
    }

    init(_ decoder: any Decoder) throws(SkippedCredential) {
        guard let container = try? decoder.container(keyedBy: CodingKeys.self) else { throw .malformed(member: "type") }
        func valid<Value>(_ value: Value?, _ name: CodingKeys) throws(SkippedCredential) -> Value {
            guard let value else { throw .malformed(member: name.rawValue) }
            return value
        }
        func text(_ name: CodingKeys) throws(SkippedCredential) -> String {
            try valid(try? container.decode(String.self, forKey: name), name)
        }
        func bytes(_ name: CodingKeys, atMost limit: Int) throws(SkippedCredential) -> [UInt8] {
            try valid(Base64URL.decodePadded(try text(name), maximumLength: limit), name)
        }
        let identifier = try bytes(.credentialId, atMost: CredentialID.maximumLength)
        id = try valid(CredentialID(bytes: identifier), .credentialId)
        relyingParty = try valid(RelyingPartyID(stored: try text(.rpId)), .rpId)
        user = UserEntity(
            id: try valid(UserHandle(bytes: try bytes(.userHandle, atMost: 64)), .userHandle),
            name: EntityName.shortened(try text(.username)),
            displayName: EntityName.shortened(try text(.userDisplayName))
        )
        let der = try bytes(.key, atMost: PrivateKeyInfo.maximumLength)
        do throws(PrivateKeyInfo.ParseError) {
            key = try PrivateKeyInfo.p256(der)
        } catch {
            throw error == .otherAlgorithm ? .otherAlgorithm : .malformed(member: CodingKeys.key.rawValue)
        }
        if let extensions = try? container.decodeIfPresent(ExtensionFields.self, forKey: .fido2Extensions) {
            secrets = extensions.secrets
            foreign = extensions.foreign
            lost = extensions.lost
        } else if container.contains(.fido2Extensions), (try? container.decodeNil(forKey: .fido2Extensions)) != true {
            lost = [CodingKeys.fido2Extensions.rawValue]
        }
    }
}

/// The members of `fido2Extensions`: each one is kept or its name is added to `lost`.
private struct ExtensionFields: Decodable {
    private(set) var secrets: (verified: [UInt8], other: [UInt8]?)?
    private(set) var foreign = ForeignExtensions()
    private(set) var lost: [String] = []

    private enum CodingKeys: String, CodingKey {
        case hmacCredentials
        /// The standard's example has this member but does not define it.
        case hmacSecret
        case credBlob
        case largeBlob
        case payments
    }

    private struct HMACFields: Decodable {
        let algorithm: String
        let credWithUV: String
        let credWithoutUV: String?
    }

    private struct LargeBlobFields: Decodable {
        let uncompressedSize: UInt64
        let data: String
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func take(_ name: CodingKeys, _ body: () -> Void?) {
            if container.contains(name), body() == nil { lost.append(name.rawValue) }
        }
        take(.hmacCredentials) {
            guard let fields = try? container.decode(HMACFields.self, forKey: .hmacCredentials),
                fields.algorithm.utf8.elementsEqual(ExchangeFormat.hmacAlgorithm.utf8),
                let verified = Self.secret(fields.credWithUV)
            else { return nil }
            let other = fields.credWithoutUV.flatMap(Self.secret)
            if fields.credWithoutUV != nil, other == nil { lost.append("credWithoutUV") }
            secrets = (verified, other)
        }
        take(.hmacSecret) { nil }
        take(.credBlob) {
            guard let text = try? container.decode(String.self, forKey: .credBlob),
                let bytes = Base64URL.decodePadded(text, maximumLength: ExchangeFormat.maximumBlob)
            else { return nil }
            foreign.blob = bytes
        }
        take(.largeBlob) {
            guard let fields = try? container.decode(LargeBlobFields.self, forKey: .largeBlob),
                let data = Base64URL.decodePadded(fields.data, maximumLength: ExchangeFormat.maximumLargeBlob)
            else { return nil }
            foreign.largeBlob = ForeignExtensions.LargeBlob(size: fields.uncompressedSize, data: data)
        }
        take(.payments) {
            guard let truth = try? container.decode(Bool.self, forKey: .payments) else { return nil }
            foreign.payments = truth
        }
        let names = try decoder.container(keyedBy: AnyName.self).allKeys
        // They share one name in messages, because their own names are untrusted.
        if names.contains(where: { CodingKeys(stringValue: $0.stringValue) == nil }) {
            lost.append("extensions of other names")
        }
    }

    private struct AnyName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private static func secret(_ text: String) -> [UInt8]? {
        Base64URL.decodePadded(text, maximumLength: 32).flatMap { $0.count == 32 ? $0 : nil }
    }
}
