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
        func text(_ name: CodingKeys) throws(SkippedCredential) -> String {
            guard let text = try? container.decode(String.self, forKey: name) else {
                throw .malformed(member: name.rawValue)
            }
            return text
        }
        func bytes(_ name: CodingKeys, atMost limit: Int) throws(SkippedCredential) -> [UInt8] {
            guard let bytes = Base64URL.decodePadded(try text(name), maximumLength: limit) else {
                throw .malformed(member: name.rawValue)
            }
            return bytes
        }
        guard let id = CredentialID(bytes: try bytes(.credentialId, atMost: CredentialID.maximumLength)) else {
            throw .malformed(member: CodingKeys.credentialId.rawValue)
        }
        guard let relyingParty = RelyingPartyID(try text(.rpId)) else {
            throw .malformed(member: CodingKeys.rpId.rawValue)
        }
        guard let handle = UserHandle(bytes: try bytes(.userHandle, atMost: 64)) else {
            throw .malformed(member: CodingKeys.userHandle.rawValue)
        }
        self.id = id
        self.relyingParty = relyingParty
        user = UserEntity(
            id: handle,
            name: EntityName.shortened(try text(.username)),
            displayName: EntityName.shortened(try text(.userDisplayName))
        )
        do throws(PrivateKeyInfo.ParseError) {
            key = try PrivateKeyInfo.p256(try Self.bytes(container, PrivateKeyInfo.maximumLength))
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

    private static func bytes(
        _ container: KeyedDecodingContainer<CodingKeys>,
        _ limit: Int
    ) throws(PrivateKeyInfo.ParseError) -> [UInt8] {
        guard let text = try? container.decode(String.self, forKey: .key),
            let bytes = Base64URL.decodePadded(text, maximumLength: limit)
        else { throw .malformed }
        return bytes
    }
}

/// Members of `fido2Extensions`: each one is kept or named among the lost ones.
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
        // One name for all of them, because their names are untrusted.
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
