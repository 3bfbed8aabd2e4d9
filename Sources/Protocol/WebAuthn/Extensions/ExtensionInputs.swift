// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP
internal import HybridDeflate
internal import HybridPrimitives

/// The extensions of a registration; unknown ones are ignored (WebAuthn Level 3 §9.4).
public struct CreationExtensions: Equatable, Sendable {
    /// True if the website requests `credProps` (§10.1.3), whose result states if the passkey is discoverable.
    public var credentialProperties = false
    /// Input of `prf` (§10.1.4); `nil` if absent.
    public var prf: PRFInput?
    /// True if support for `largeBlob` (§10.1.5) is required, false if it is preferred; `nil` if absent.
    public var largeBlobRequired: Bool?

    /// Creates a value without extensions.
    public init() {}
}

extension CreationExtensions: Decodable {
    private struct Members: Decodable {
        let credProps: Bool?
        let prf: PRFField?
        let largeBlob: LargeBlobField?
    }

    /// Creates the extensions of a registration; members that are valid in a sign-in only are rejected.
    public init(from decoder: any Decoder) throws {
        let members = try Members(from: decoder)
        guard members.prf?.evalByCredential == nil else {
            let field = decoder.codingPath.field("prf.evalByCredential")
            throw OptionsError.unsupported(field: field, because: "is not valid in a registration")
        }
        if let blob = members.largeBlob, blob.read != nil || blob.write != nil {
            let field = decoder.codingPath.field(blob.read == nil ? "largeBlob.write" : "largeBlob.read")
            throw OptionsError.unsupported(field: field, because: "is valid in a sign-in only")
        }
        credentialProperties = members.credProps ?? false
        prf = members.prf.map { PRFInput(salts: $0.eval?.salts) }
        largeBlobRequired = members.largeBlob.map { $0.support?.utf8.elementsEqual("required".utf8) ?? false }
    }
}

/// The extensions of a sign-in; unknown ones are ignored.
public struct RequestExtensions: Equatable, Sendable {
    /// Input of `prf` (§10.1.4); `nil` if absent.
    public var prf: PRFInput?
    /// Input of `largeBlob` (§10.1.5); `nil` if absent.
    public var largeBlob: LargeBlobRequest?

    /// Creates the extensions of a sign-in from members, which are checked against the list of allowed credentials.
    init(_ field: RequestExtensionsField?, allowed: [CredentialID], path: String) throws {
        prf = try field?.prf.map { try Self.prf($0, allowed, path + ".prf") }
        largeBlob = try field?.largeBlob.flatMap { try Self.largeBlob($0, allowed, path + ".largeBlob") }
    }

    private static func prf(_ field: PRFField, _ allowed: [CredentialID], _ path: String) throws -> PRFInput {
        let path = path + ".evalByCredential"
        let entries = field.evalByCredential ?? [:]
        guard entries.isEmpty || !allowed.isEmpty else {
            throw OptionsError.unsupported(field: path, because: "requires allowCredentials")
        }
        var input = PRFInput(salts: field.eval?.salts)
        for (key, values) in entries {
            guard let bytes = Base64URL.decode(key), let id = CredentialID(bytes: bytes), allowed.contains(id) else {
                let reason = "has a key that is not in allowCredentials"
                throw OptionsError.invalid(field: path, because: reason, .syntaxError)
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
            throw OptionsError.unsupported(field: path + ".support", because: "is valid in a registration only")
        }
        guard let data = field.write else { return field.read == true ? .read : nil }
        guard field.read == nil else {
            throw OptionsError.unsupported(field: path, because: "cannot be read and written at once")
        }
        guard allowed.count == 1 else {
            let reason = "requires exactly one entry in allowCredentials"
            throw OptionsError.unsupported(field: path + ".write", because: reason)
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
        case .write(let bytes): .write(CompressedBlob(bytes: Deflate.stored(bytes), originalSize: bytes.count))
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

/// `AuthenticationExtensionsPRFValues`; a phone receives only hashes of the values (§10.1.4).
struct PRFValuesField: Decodable {
    let first: BytesField
    let second: BytesField?

    var salts: PRFSalts {
        PRFSalts(first: PRFSalt(hashing: first.bytes), second: second.map { PRFSalt(hashing: $0.bytes) })
    }
}

/// `AuthenticationExtensionsLargeBlobInputs`.
struct LargeBlobField: Decodable {
    let support: String?
    let read: Bool?
    let write: BytesField?
}

extension PRFSalt {
    /// Creates a salt from a website's input (WebAuthn Level 3 §10.1.4).
    ///
    /// The salt is the SHA-256 of `WebAuthn PRF`, a zero byte and the input. The prefix separates such salts from those
    /// of applications that use `hmac-secret` directly.
    init(hashing value: [UInt8]) {
        let digest = Array(SHA256.hash(data: Array("WebAuthn PRF".utf8) + [0] + value))
        guard let salt = PRFSalt(bytes: digest) else { preconditionFailure("SHA-256 has 32 bytes") }
        self = salt
    }
}
