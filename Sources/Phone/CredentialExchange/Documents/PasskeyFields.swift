// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCTAP
internal import HybridPrimitives

/// A passkey of a file with valid members.
struct PasskeyFields {
    let id: CredentialID
    let relyingParty: RelyingPartyID
    let user: UserEntity
    let key: P256.Signing.PrivateKey
    /// Secrets of `hmac-secret` with and without user verification, 32 bytes each.
    private(set) var secrets: (verified: [UInt8], other: [UInt8]?)?
    private(set) var foreign = ForeignExtensions()
    /// True if clients find the passkey without its ID; `nil` if the format does not say.
    var isDiscoverable: Bool?
    /// Time of creation in seconds since 1970; `nil` if the passkey itself has none.
    var created: UInt64?
    /// Names of members that cannot be kept.
    var lost: [String] = []

    /// Creates a passkey without extensions.
    init(id: CredentialID, relyingParty: RelyingPartyID, user: UserEntity, key: P256.Signing.PrivateKey) {
        self.id = id
        self.relyingParty = relyingParty
        self.user = user
        self.key = key
    }

    private enum CodingKeys: String, CodingKey {
        case credentialId
        case rpId
        case username
        /// The name of `username` in the working drafts of 2024.
        case userName
        case userDisplayName
        case userHandle
        case key
        case fido2Extensions
    }

    /// Reads a credential of type `passkey` of the Credential Exchange Format.
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
        let name = container.contains(.username) ? CodingKeys.username : .userName
        self.init(
            id: try valid(CredentialID(bytes: identifier), .credentialId),
            relyingParty: try valid(
                RelyingPartyID(try text(.rpId), accepting: Set(RelyingPartyID.Kind.allCases)),
                .rpId
            ),
            user: UserEntity(
                id: try valid(UserHandle(bytes: try bytes(.userHandle, atMost: 64)), .userHandle),
                name: EntityName.shortened(try valid(try? container.decode(String.self, forKey: name), .username)),
                displayName: EntityName.shortened(try text(.userDisplayName))
            ),
            key: try Self.key(try text(.key), member: CodingKeys.key.rawValue)
        )
        if let extensions = try? container.decodeIfPresent(ExtensionFields.self, forKey: .fido2Extensions) {
            secrets = extensions.secrets
            foreign = extensions.foreign
            lost = extensions.lost
        } else if container.contains(.fido2Extensions), (try? container.decodeNil(forKey: .fido2Extensions)) != true {
            lost = [CodingKeys.fido2Extensions.rawValue]
        }
    }

    /// Reads a private key in PKCS#8 and base64url.
    static func key(_ text: String?, member: String) throws(SkippedCredential) -> P256.Signing.PrivateKey {
        let der = text.flatMap { Base64URL.decodePadded($0, maximumLength: PrivateKeyInfo.maximumLength) }
        guard let der else { throw .malformed(member: member) }
        do throws(PrivateKeyInfo.ParseError) {
            return try PrivateKeyInfo.p256(der)
        } catch {
            throw error == .otherAlgorithm ? .otherAlgorithm : .malformed(member: member)
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
        let uncompressedSize: UInt64?
        /// In the working drafts, the name of `uncompressedSize`.
        let size: UInt64?
        /// In the working drafts, always DEFLATE.
        let alg: String?
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
                let size = fields.uncompressedSize ?? fields.size, fields.alg ?? "deflate" == "deflate",
                let data = Base64URL.decodePadded(fields.data, maximumLength: ExchangeFormat.maximumLargeBlob)
            else { return nil }
            foreign.largeBlob = ForeignExtensions.LargeBlob(size: size, data: data)
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
