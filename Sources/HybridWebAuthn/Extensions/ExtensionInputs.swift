// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
internal import HybridPrimitives

/// The extensions that a creation asks for; those that are not known here are ignored (WebAuthn Level 3 §9.4).
public struct CreationExtensions: Equatable, Sendable {
    /// Whether the website wants to know if the passkey is discoverable (`credProps`, §10.1.3).
    public var credentialProperties = false
    /// What is asked of `prf` (§10.1.4); `nil` if nothing is.
    public var prf: PRFInput?
    /// Whether the passkey must keep data (`largeBlob`, §10.1.5), or should; `nil` if it is not asked.
    public var largeBlobRequired: Bool?

    /// Nothing at all.
    public init() {}
}

extension CreationExtensions: Decodable {
    private enum CodingKeys: String, CodingKey {
        case credProps
        case prf
        case largeBlob
    }

    /// Reads the members, and refuses what only a sign-in may ask.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        credentialProperties = try container.decodeIfPresent(Bool.self, forKey: .credProps) ?? false
        if let field = try container.decodeIfPresent(PRFField.self, forKey: .prf) {
            guard field.evalByCredential == nil else {
                throw OptionsError.invalid(
                    field: (decoder.codingPath + [CodingKeys.prf]).field + ".evalByCredential",
                    because: "names passkeys, and there is none yet",
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
                    because: "is for sign-ins",
                    .notSupportedError
                )
            }
            largeBlobRequired = field.support?.utf8.elementsEqual("required".utf8) ?? false
        }
    }
}

/// The extensions that a sign-in asks for; those that are not known here are ignored.
public struct RequestExtensions: Equatable, Sendable {
    /// What is asked of `prf` (§10.1.4); `nil` if nothing is.
    public var prf: PRFInput?
    /// What is asked of `largeBlob` (§10.1.5); `nil` if nothing is.
    public var largeBlob: LargeBlobRequest?

    init() {}

    /// Joins the members with the list of who may answer, which some of them must agree with.
    init(_ field: RequestExtensionsField, allowed: [CredentialID], path: [any CodingKey]) throws {
        prf = try field.prf.map { try Self.prf($0, allowed, path.field + ".prf") }
        largeBlob = try field.largeBlob.flatMap { try Self.largeBlob($0, allowed, path.field + ".largeBlob") }
    }

    private static func prf(_ field: PRFField, _ allowed: [CredentialID], _ path: String) throws -> PRFInput {
        let path = path + ".evalByCredential"
        let entries = field.evalByCredential ?? [:]
        guard entries.isEmpty || !allowed.isEmpty else {
            throw OptionsError.invalid(field: path, because: "needs allowCredentials", .notSupportedError)
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
            throw OptionsError.invalid(field: path + ".support", because: "is for creations", .notSupportedError)
        }
        guard let data = field.write else { return field.read == true ? .read : nil }
        guard field.read == nil else {
            throw OptionsError.invalid(field: path, because: "can't be read and written at once", .notSupportedError)
        }
        guard allowed.count == 1 else {
            throw OptionsError.invalid(
                field: path + ".write",
                because: "needs exactly one entry in allowCredentials",
                .notSupportedError
            )
        }
        return .write(data.bytes)
    }
}

/// What a sign-in asks of `largeBlob`.
public enum LargeBlobRequest: Equatable, Sendable {
    /// What is kept.
    case read
    /// To keep these bytes from now on.
    case write([UInt8])

    var ctapInput: LargeBlobInput {
        switch self {
        case .read: .read
        case .write(let bytes):
            .write(CompressedBlob(bytes: Deflate.stored(bytes), originalSize: bytes.count))
        }
    }
}

/// The extensions of a sign-in as they are written, before they are held against the list of who may answer.
struct RequestExtensionsField: Decodable {
    let prf: PRFField?
    let largeBlob: LargeBlobField?
}

/// `AuthenticationExtensionsPRFInputs`.
struct PRFField: Decodable {
    let eval: PRFValuesField?
    let evalByCredential: [String: PRFValuesField]?
}

/// `AuthenticationExtensionsPRFValues`, of which a phone only gets the hash (§10.1.4).
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
