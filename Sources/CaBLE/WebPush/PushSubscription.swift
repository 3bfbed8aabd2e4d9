// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// A P-256 public key of Web Push: an uncompressed point of 65 bytes.
public struct PushPublicKey: Hashable, Sendable {
    /// Length in bytes.
    public static let length = 65

    /// The 65 bytes.
    public let bytes: [UInt8]

    /// Creates a key from an uncompressed point; `nil` for another length or a point that is not on the curve.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length,
            let key = try? P256.KeyAgreement.PublicKey(x963Representation: Array(bytes))
        else { return nil }
        self.init(key)
    }

    /// Creates a key from a compressed point of 33 bytes; `nil` for other bytes.
    init?(compressed bytes: some Collection<UInt8>) {
        guard bytes.count == 33, let key = try? P256.KeyAgreement.PublicKey(compressedRepresentation: Array(bytes))
        else { return nil }
        self.init(key)
    }

    init(_ key: P256.KeyAgreement.PublicKey) { bytes = Array(key.x963Representation) }

    /// The key in base64url without padding, as Web Push applications exchange it.
    public var base64URL: String { Base64URL.encode(bytes) }

    /// The compressed point, 33 bytes.
    var compressed: [UInt8] { [bytes[64] & 1 == 0 ? 0x02 : 0x03] + bytes[1...32] }
}

/// The address at which a push server accepts messages for a phone, and the keys that encrypt them (RFC 8030, 8291).
///
/// Any party that knows it can wake the phone, so it is never logged.
public struct PushSubscription: Hashable, Sendable, SecretMaterial {
    /// Maximum length of an endpoint in bytes.
    public static let maximumEndpointLength = 512
    /// Length of the authentication secret in bytes (RFC 8291 §3.2).
    public static let authenticationSecretLength = 16

    /// URL of the push resource, 1 to 512 bytes of visible ASCII; nothing else has been checked.
    public let endpoint: String
    /// The phone's key, `p256dh`.
    public let publicKey: PushPublicKey
    /// The authentication secret, `auth`; 16 bytes.
    public let authenticationSecret: [UInt8]

    /// Creates a subscription; `nil` if the endpoint or the authentication secret has a wrong length or character.
    public init?(endpoint: String, publicKey: PushPublicKey, authenticationSecret: some Collection<UInt8>) {
        let bytes = endpoint.utf8
        guard (1...Self.maximumEndpointLength).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }),
            authenticationSecret.count == Self.authenticationSecretLength
        else { return nil }
        self.endpoint = endpoint
        self.publicKey = publicKey
        self.authenticationSecret = Array(authenticationSecret)
    }
}

/// The 32 random bytes that a relay pushes to an endpoint, so that the phone can prove that the endpoint is its own.
public struct PushNonce: RandomlyChosenBytes, Hashable, Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 32

    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// Returns true if the bytes are equal; the comparison takes constant time.
    public func matches(_ other: PushNonce) -> Bool { ConstantTime.equal(bytes, other.bytes) }
}
