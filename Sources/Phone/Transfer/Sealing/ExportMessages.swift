// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The parameters of HPKE (RFC 9180) that both sides use, with a public key: in a request that of the receiver, in a
/// response the encapsulated one.
struct HPKEParameters: Sendable {
    /// The numbers of DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM.
    private static let suite: [(String, Int)] = [("kem", 0x20), ("kdf", 1), ("aead", 2)]

    /// The public key.
    let key: Curve25519.KeyAgreement.PublicKey

    init(key: Curve25519.KeyAgreement.PublicKey) { self.key = key }

    /// Reads parameters; `nil` if they are others.
    init?(_ json: JSONCursor) throws {
        guard try json.member("mode").text == "base" else { return nil }
        for (name, number) in Self.suite {
            guard try json.member(name).integer() == number else { return nil }
        }
        let key = try json.member("key")
        guard try key.member("kty").text == "OKP", try key.member("crv").text == "X25519",
            let point = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: key.member("x").bytes(atMost: 32)),
            Self.sharesSecret(point)
        else { throw TransferFailure.malformed("\(key.path) is not a key of X25519") }
        self.key = point
    }

    /// Returns false for a point of low order, with which every key agreement results in zeros that anyone knows.
    ///
    /// RFC 9180 §7.1.4 requires this check, which swift-crypto leaves to its caller.
    private static func sharesSecret(_ point: Curve25519.KeyAgreement.PublicKey) -> Bool {
        let secret = try? Curve25519.KeyAgreement.PrivateKey().sharedSecretFromKeyAgreement(with: point)
        return secret?.withUnsafeBytes { $0.contains { $0 != 0 } } ?? false
    }

    var json: JSONText {
        let key: JSONText = .object([
            ("kty", .string("OKP")), ("crv", .string("X25519")), ("x", .bytes(Array(key.rawRepresentation))),
        ])
        let suite = Self.suite.map { ($0.0, JSONText.number($0.1)) }
        return .object([("mode", .string("base"))] + suite + [("key", key)])
    }
}

/// The request of the Credential Exchange Protocol (working draft of 3 October 2024, version 0): what is asked for, and
/// the key to seal it for.
struct ExportRequest: Sendable {
    /// The version of the protocol.
    static let version = 0
    /// The name of this program; the protocol requires a domain.
    static let party = "hybrid-auth.invalid"
    private static let passkeys = "passkey"
    /// Maximum number of alternatives in a request.
    private static let maximumAlternatives = 16

    let parameters: HPKEParameters

    init(for key: RequestKey) { parameters = HPKEParameters(key: key.key.publicKey) }

    /// Reads a request, which may also offer other parameters and ask for other credentials.
    init(_ json: JSONCursor) throws {
        try json.checkExportVersion()
        _ = try json.member("importer").text
        if let types = try json.memberIfPresent("credentialTypes")?.elements.map({ try $0.text }) {
            guard types.contains(Self.passkeys) else { throw TransferFailure.malformed("it asks for no passkeys") }
        }
        let alternatives = try json.member("hpke").elements
        guard alternatives.count <= Self.maximumAlternatives else {
            throw TransferFailure.malformed("\(alternatives.count) kinds of encryption")
        }
        guard let parameters = try alternatives.lazy.compactMap({ try HPKEParameters($0) }).first else {
            throw TransferFailure.malformed("it has no kind of encryption that this program has")
        }
        self.parameters = parameters
    }

    var json: JSONText { .object(members) }

    var members: [(String, JSONText)] {
        [
            ("version", .number(Self.version)), ("importer", .string(Self.party)),
            ("hpke", .array([parameters.json])), ("credentialTypes", .array([.string(Self.passkeys)])),
        ]
    }
}

/// The response of the Credential Exchange Protocol: a payload that only the receiver can open.
struct ExportResponse: Sendable {
    /// The parameters with the encapsulated key.
    let parameters: HPKEParameters
    /// The ciphertext with its tag.
    let payload: [UInt8]

    init(parameters: HPKEParameters, payload: [UInt8]) { (self.parameters, self.payload) = (parameters, payload) }

    init(_ json: JSONCursor) throws {
        try json.checkExportVersion()
        _ = try json.member("exporter").text
        guard let parameters = try HPKEParameters(json.member("hpke")) else {
            throw TransferFailure.malformed("it is encrypted in a way that was not asked for")
        }
        self.parameters = parameters
        payload = try json.member("payload").bytes(atMost: PayloadSealing.maximumLength + PayloadSealing.tagLength)
    }

    var json: JSONText {
        .object([
            ("version", .number(ExportRequest.version)), ("exporter", .string(ExportRequest.party)),
            ("hpke", parameters.json), ("payload", .bytes(payload)),
        ])
    }
}

extension JSONCursor {
    fileprivate func checkExportVersion() throws {
        guard try member("version").integer() == ExportRequest.version else { throw TransferFailure.version }
    }
}
