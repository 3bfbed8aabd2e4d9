// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP
internal import HybridPrimitives

/// The extensions of a registration; unknown ones are ignored (WebAuthn Level 3 §9.4).
public struct CreationExtensions: Equatable, Sendable {
    /// True if the website requests `credProps` (§10.1.3), which reports if the passkey is discoverable.
    public var credentialProperties = false
    /// Input of `prf` (§10.1.4); `nil` if absent.
    public var prf: PRFInput?
    /// True if the passkey must store data (`largeBlob`, §10.1.5), false if it should; `nil` if absent.
    public var largeBlobRequired: Bool?

    /// Creates a value without extensions.
    public init() {}
}

extension CreationExtensions: Decodable {
    private enum CodingKeys: String, CodingKey {
        case credProps
        case prf
        case largeBlob
    }

    /// Reads the members, and rejects those that are valid in a sign-in only.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        credentialProperties = try container.decodeIfPresent(Bool.self, forKey: .credProps) ?? false
        if let field = try container.decodeIfPresent(PRFField.self, forKey: .prf) {
            guard field.evalByCredential == nil else {
                throw OptionsError.invalid(
                    field: (decoder.codingPath + [CodingKeys.prf]).field + ".evalByCredential",
                    because: "is not valid in a registration",
                    .notSupportedError
                )
            }
            prf = PRFInput(salts: field.eval?.salts)
        }
        if let field = try container.decodeIfPresent(LargeBlobField.self, forKey: .largeBlob) {
            guard field.read == nil, field.write == nil else {
                let member = field.read == nil ? ".write" : ".read"
                throw OptionsError.invalid(
                    field: (decoder.codingPath + [CodingKeys.largeBlob]).field + member,
                    because: "is valid in a sign-in only",
                    .notSupportedError
                )
            }
            largeBlobRequired = field.support?.utf8.elementsEqual("required".utf8) ?? false
        }
    }
}

/// The extensions of a sign-in; unknown ones are ignored.
public struct RequestExtensions: Equatable, Sendable {
    /// Input of `prf` (§10.1.4); `nil` if absent.
    public var prf: PRFInput?
    /// Input of `largeBlob` (§10.1.5); `nil` if absent.
    public var largeBlob: LargeBlobRequest?

    init() {}

    /// Checks the members against the list of allowed credentials.
    init(_ field: RequestExtensionsField, allowed: [CredentialID], path: [any CodingKey]) throws {
        prf = try field.prf.map { try Self.prf($0, allowed, path.field + ".prf") }
        largeBlob = try field.largeBlob.flatMap { try Self.largeBlob($0, allowed, path.field + ".largeBlob") }
    }

    private static func prf(_ field: PRFField, _ allowed: [CredentialID], _ path: String) throws -> PRFInput {
        let path = path + ".evalByCredential"
        let entries = field.evalByCredential ?? [:]
        guard entries.isEmpty || !allowed.isEmpty else {
            throw OptionsError.invalid(field: path, because: "requires allowCredentials", .notSupportedError)
        }
        var input = PRFInput(salts: field.eval?.salts)
        for (key, values) in entries {
            guard let bytes = Base64URL.decode(key), let id = CredentialID(bytes: bytes), allowed.contains(id) else {
                throw OptionsError.invalid(
                    field: path,
                    because: "has a key that is not in allowCredentials",
                    .syntaxError
                )
            }
            input.saltsByCredential[id] = values.salts
        }
        return input
    }

    private static func largeBlob(
        _ field: LargeBlobField,
        _ allowed: [CredentialID],
        _ path: String
    ) throws -> LargeBlobRequest? {
        guard field.support == nil else {
            throw OptionsError.invalid(
                field: path + ".support",
                because: "is valid in a registration only",
                .notSupportedError
            )
        }
        guard let data = field.write else { return field.read == true ? .read : nil }
        guard field.read == nil else {
            throw OptionsError.invalid(field: path, because: "cannot be read and written at once", .notSupportedError)
        }
        guard allowed.count == 1 else {
            throw OptionsError.invalid(
                field: path + ".write",
                because: "requires exactly one entry in allowCredentials",
                .notSupportedError
            )
        }
        return .write(data.bytes)
    }
}

/// Input of `largeBlob` in a sign-in.
public enum LargeBlobRequest: Equatable, Sendable {
    /// Reads the stored data.
    case read
    /// Replaces the stored data.
    case write([UInt8])

    var ctapInput: LargeBlobInput {
        switch self {
        case .read: .read
        case .write(let bytes):
            .write(CompressedBlob(bytes: Deflate.stored(bytes), originalSize: bytes.count))
        }
    }
}

/// The extensions of a sign-in, before they are checked against the list of allowed credentials.
struct RequestExtensionsField: Decodable {
    let prf: PRFField?
    let largeBlob: LargeBlobField?
}

/// `AuthenticationExtensionsPRFInputs`.
struct PRFField: Decodable {
    let eval: PRFValuesField?
    let evalByCredential: [String: PRFValuesField]?
}

/// `AuthenticationExtensionsPRFValues`; a phone receives hashes of the values only (§10.1.4).
struct PRFValuesField: Decodable {
    let salts: PRFSalts

    private enum CodingKeys: String, CodingKey {
        case first
        case second
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        salts = PRFSalts(
            first: PRFSalt(hashing: try container.decode(BytesField.self, forKey: .first).bytes),
            second: try container.decodeIfPresent(BytesField.self, forKey: .second).map { PRFSalt(hashing: $0.bytes) }
        )
    }
}

/// `AuthenticationExtensionsLargeBlobInputs`.
struct LargeBlobField: Decodable {
    let support: String?
    let read: Bool?
    let write: BytesField?
}

extension PRFSalt {
    /// Hashes `WebAuthn PRF`, a zero byte and the website's input with SHA-256 (WebAuthn Level 3 §10.1.4).
    ///
    /// The prefix separates these salts from those of other clients that use `hmac-secret` directly.
    init(hashing value: [UInt8]) {
        let digest = Array(SHA256.hash(data: Array("WebAuthn PRF".utf8) + [0] + value))
        guard let salt = PRFSalt(bytes: digest) else { preconditionFailure("SHA-256 has 32 bytes") }
        self = salt
    }
}
