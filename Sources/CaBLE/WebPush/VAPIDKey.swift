// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// The key with which a relay identifies itself to push servers (RFC 8292).
public struct VAPIDKey: Sendable, SecretMaterial {
    /// Length of the stored form in bytes.
    public static let length = 32

    private let key: P256.Signing.PrivateKey

    /// Creates a random key.
    public init() { key = P256.Signing.PrivateKey() }

    /// Creates a key from the 32 bytes of its private scalar; `nil` for other bytes.
    public init?(bytes: UnsafeRawBufferPointer) {
        guard let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes) else { return nil }
        self.key = key
    }

    /// The public key, which a phone names when it subscribes.
    public var publicKey: PushPublicKey {
        guard let key = PushPublicKey(bytes: key.publicKey.x963Representation) else {
            preconditionFailure("a public key is a point of the curve")
        }
        return key
    }

    /// Calls `body` with the 32 bytes of the stored form.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try SymmetricKey(data: key.rawRepresentation).withUnsafeBytes(body)
    }

    /// Returns the value of the field `Authorization` for one push server.
    ///
    /// - Parameters:
    ///   - origin: Origin of the push server, as in `https://push.example`.
    ///   - subject: `mailto:` or `https:` URL of the relay's operator, without control characters.
    ///   - expiry: Expiry of the token in seconds since 1970, at most 24 hours from now (RFC 8292 §2).
    public func authorization(origin: String, subject: String, expiry: Int) -> String {
        let header: JSONText = .object([("typ", .string("JWT")), ("alg", .string("ES256"))])
        let claims: JSONText = .object([
            ("aud", .string(origin)), ("exp", .number(expiry)), ("sub", .string(subject)),
        ])
        let signed = [header, claims].map { Base64URL.encode($0.description.utf8) }.joined(separator: ".")
        guard let signature = try? key.signature(for: Array(signed.utf8)) else {
            preconditionFailure("ECDSA signs any message")
        }
        return "vapid t=\(signed).\(Base64URL.encode(Array(signature.rawRepresentation))),k=\(publicKey.base64URL)"
    }
}
