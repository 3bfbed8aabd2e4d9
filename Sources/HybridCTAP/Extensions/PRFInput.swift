// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// What a request asks of the `prf` extension (WebAuthn Level 3 §10.1.4), in the form that phones are sent.
///
/// Security keys are asked for the same with `hmac-secret` and an encryption of its own. Over hybrid the channel
/// encrypts already, so the salts stand in the clear inside it, by their WebAuthn names:
///
/// - in a creation `{}` or `{eval: {first, second?}}`;
/// - in a sign-in `{eval?: {first, second?}, evalByCredential?: {credential ID: {first, second?}}}`.
///
/// The answers are unsigned extension outputs. They are secrets of the website's, and as such of no use to anybody
/// who could change them.
public struct PRFInput: Equatable, Sendable {
    /// Name of the extension.
    static let name: CBORValue = "prf"
    /// The same as getInfo lists it.
    public static let extensionName = "prf"

    /// The salts for whichever credential answers.
    public var salts: PRFSalts?
    /// Salts for one credential, which go before ``salts``.
    public var saltsByCredential: [CredentialID: PRFSalts]

    /// An input from its parts; without any salts it asks whether the extension is there.
    public init(salts: PRFSalts? = nil, saltsByCredential: [CredentialID: PRFSalts] = [:]) {
        self.salts = salts
        self.saltsByCredential = saltsByCredential
    }

    /// The salts that are meant for a credential.
    public func salts(for credential: CredentialID) -> PRFSalts? { saltsByCredential[credential] ?? salts }

    /// The member of a request's extensions.
    public var extensionInput: CBORMap {
        var members = CBORMap()
        if let salts { members["eval"] = salts.cbor }
        if !saltsByCredential.isEmpty {
            var map = CBORMap()
            for (credential, salts) in saltsByCredential { map[.bytes(credential.bytes)] = salts.cbor }
            members["evalByCredential"] = .map(map)
        }
        return [Self.name: .map(members)]
    }

    /// Reads the member of a request's extensions; `nil` if there is none.
    init?(extensions: CBORMap?) throws(FieldError) {
        let fields = FieldReader(extensions ?? [:], path: "extensions")
        guard try fields.optional(Self.name, "prf", as: \.map) != nil else { return nil }
        let prf = try fields.nested(Self.name, "prf")
        if try prf.optional("eval", "eval", as: \.map) != nil { salts = try PRFSalts(prf.nested("eval", "eval")) }
        saltsByCredential = [:]
        for (key, value) in try prf.optional("evalByCredential", "evalByCredential", as: \.map)?.entries ?? [] {
            let name = prf.name("evalByCredential")
            guard let bytes = key.bytes, let map = value.map else { throw .wrongType(name) }
            guard let credential = CredentialID(bytes: bytes) else { throw .wrongLength(name) }
            saltsByCredential[credential] = try PRFSalts(FieldReader(map, path: name))
        }
    }
}

/// One salt or two, each to be turned into 32 pseudo-random bytes.
public struct PRFSalts: Hashable, Sendable {
    /// The first.
    public var first: PRFSalt
    /// The second, which sites use while they change keys.
    public var second: PRFSalt?

    /// Salts from their parts.
    public init(first: PRFSalt, second: PRFSalt? = nil) {
        self.first = first
        self.second = second
    }

    fileprivate var cbor: CBORValue {
        var map: CBORMap = ["first": .bytes(first.bytes)]
        if let second { map["second"] = .bytes(second.bytes) }
        return .map(map)
    }

    init(_ fields: FieldReader) throws(FieldError) {
        first = try fields.bytes("first", "first", as: PRFSalt.init(bytes:))
        second =
            try fields.optional("second", "second", as: \.bytes) == nil
            ? nil : fields.bytes("second", "second", as: PRFSalt.init(bytes:))
    }
}

/// A salt as it comes out of the client, which has hashed what the website gave: 32 bytes.
public struct PRFSalt: Hashable, Sendable {
    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Takes exactly 32 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }
}
