// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCBOR
public import HybridPrimitives

/// Input of the `prf` extension (WebAuthn Level 3 §10.1.4) in the format for phones.
///
/// Security keys use `hmac-secret` instead, which encrypts the salts. The hybrid channel is already encrypted, so the
/// salts are sent as they are, under their WebAuthn names:
///
/// - for a registration: `{}` or `{eval: {first, second?}}`
/// - for a sign-in: `{eval?: {first, second?}, evalByCredential?: {credential ID: {first, second?}}}`
///
/// The results are unsigned extension outputs.
public struct PRFInput: Equatable, Sendable {
    /// ``extensionName`` as a map key.
    static let name: CBORValue = "prf"
    /// Name of the extension in getInfo.
    public static let extensionName = "prf"

    /// Salts for any credential.
    public var salts: PRFSalts?
    /// Salts for specific credentials, which take precedence over ``salts``.
    public var saltsByCredential: [CredentialID: PRFSalts]

    /// Creates an input from its parts.
    ///
    /// An input without salts only requests support for the extension.
    public init(salts: PRFSalts? = nil, saltsByCredential: [CredentialID: PRFSalts] = [:]) {
        self.salts = salts
        self.saltsByCredential = saltsByCredential
    }

    /// Returns the salts for a credential.
    public func salts(for credential: CredentialID) -> PRFSalts? { saltsByCredential[credential] ?? salts }

    /// The entry for the extensions map of a request.
    public var extensionInput: CBORMap {
        var members = CBORMap()
        if let salts { members["eval"] = salts.cbor }
        if !saltsByCredential.isEmpty {
            let entries = saltsByCredential.map { (CBORValue.bytes($0.bytes), $1.cbor) }
            members["evalByCredential"] = .map(CBORMap(entries))
        }
        return [Self.name: .map(members)]
    }

    /// Creates an input from the extensions of a request; `nil` if they do not contain it.
    init?(extensions: CBORMap?) throws(CTAPRequestError) {
        let fields = FieldReader<CTAPRequestError>(extensions ?? [:], path: "extensions")
        guard let prf = try fields.optionalNested(Self.name, "prf") else { return nil }
        salts = try prf.optionalNested("eval", "eval").map(PRFSalts.init)
        saltsByCredential = [:]
        for (key, value) in try prf.optional("evalByCredential", "evalByCredential", as: \.map)?.entries ?? [] {
            let name = prf.name("evalByCredential")
            guard let bytes = key.bytes, let map = value.map else { throw .wrongType(name) }
            guard let credential = CredentialID(bytes: bytes) else { throw .wrongLength(name) }
            saltsByCredential[credential] = try PRFSalts(FieldReader<CTAPRequestError>(map, path: name))
        }
    }
}

/// One or two salts; each yields 32 pseudorandom bytes.
public struct PRFSalts: Hashable, Sendable {
    /// The first salt.
    public var first: PRFSalt
    /// The second salt, which websites use for key rotation.
    public var second: PRFSalt?

    /// Creates salts from their parts.
    public init(first: PRFSalt, second: PRFSalt? = nil) {
        self.first = first
        self.second = second
    }

    fileprivate var cbor: CBORValue {
        var map: CBORMap = ["first": .bytes(first.bytes)]
        if let second { map["second"] = .bytes(second.bytes) }
        return .map(map)
    }

    init(_ fields: FieldReader<CTAPRequestError>) throws(CTAPRequestError) {
        first = try fields.bytes("first", "first", as: PRFSalt.init(bytes:))
        second = try fields.optionalBytes("second", "second", as: PRFSalt.init(bytes:))
    }
}

/// A salt of 32 bytes, which the client derives from the website's input.
public struct PRFSalt: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 32

    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// Creates a salt from a website's input (WebAuthn Level 3 §10.1.4).
    ///
    /// The salt is the SHA-256 of `WebAuthn PRF`, a zero byte and the input. The prefix separates such salts from those
    /// of applications that use `hmac-secret` directly.
    public init(hashing value: [UInt8]) {
        self.init(checked: Array(SHA256.hash(data: Array("WebAuthn PRF".utf8) + [0] + value)))
    }
}
