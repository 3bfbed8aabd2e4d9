// SPDX-License-Identifier: Apache-2.0

public import Crypto
internal import HybridCBOR
public import HybridPrimitives

/// Information with which a client can contact the authenticator again without a QR code.
public struct LinkingInformation: Sendable, SecretMaterial {
    /// Key 1: opaque ID that the relay uses to wake the phone, usually up to a few hundred bytes.
    public let contactID: ContactID
    /// Key 2: ID of this link, 8 bytes.
    public let linkID: LinkID
    /// Key 3: shared secret, 32 bytes.
    public let secret: LinkSecret
    /// Key 4: static key of the authenticator, an uncompressed point of 65 bytes.
    public let authenticatorKey: P256.KeyAgreement.PublicKey
    /// Key 5: name of the phone.
    public let name: String
    /// Key 6: proof that the sender holds the static key, bound to this session; 32 bytes.
    let signature: [UInt8]

    /// Creates linking information from a CBOR map; `nil` if a value is missing or has the wrong type or length.
    init?(_ value: CBORValue) {
        guard let map = value.map,
            let contactID = map[1]?.bytes.flatMap({ ContactID(bytes: $0) }),
            let linkID = map[2]?.bytes.flatMap({ LinkID(bytes: $0) }),
            let secret = map[3]?.bytes.flatMap({ LinkSecret(bytes: $0) }),
            let point = map[4]?.bytes, point.count == 65,
            let key = try? P256.KeyAgreement.PublicKey(x963Representation: point),
            let name = map[5]?.text,
            let signature = map[6]?.bytes, signature.count == 32
        else { return nil }
        self.contactID = contactID
        self.linkID = linkID
        self.secret = secret
        self.authenticatorKey = key
        self.name = name
        self.signature = signature
    }

    /// Creates linking information and authenticates it for the session with this handshake hash.
    public init(
        contactID: ContactID,
        linkID: LinkID,
        secret: LinkSecret,
        authenticatorKey: P256.KeyAgreement.PrivateKey,
        name: String,
        clientKey: P256.KeyAgreement.PublicKey,
        handshakeHash: HandshakeHash
    ) throws(HandshakeError) {
        self.contactID = contactID
        self.linkID = linkID
        self.secret = secret
        self.authenticatorKey = authenticatorKey.publicKey
        self.name = name
        self.signature = try Self.signature(own: authenticatorKey, peer: clientKey, hash: handshakeHash)
    }

    /// Returns true if the authenticator proved possession of its static key in this session.
    ///
    /// The proof is the HMAC-SHA256 of the handshake hash. Its key is the ECDH of the authenticator's static key and
    /// the client key, so only the owner of the client key can verify it. The comparison takes constant time.
    public func isAuthentic(clientKey: P256.KeyAgreement.PrivateKey, handshakeHash: HandshakeHash) -> Bool {
        guard let expected = try? Self.signature(own: clientKey, peer: authenticatorKey, hash: handshakeHash) else {
            return false
        }
        return ConstantTime.equal(expected, signature)
    }

    var map: CBORMap {
        [
            1: .bytes(contactID.bytes),
            2: .bytes(linkID.bytes),
            3: .bytes(secret.key.withUnsafeBytes { Array($0) }),
            4: .bytes(Array(authenticatorKey.x963Representation)),
            5: .text(name),
            6: .bytes(signature),
        ]
    }

    private static func signature(
        own: P256.KeyAgreement.PrivateKey,
        peer: P256.KeyAgreement.PublicKey,
        hash: HandshakeHash
    ) throws(HandshakeError) -> [UInt8] {
        do {
            let shared = try own.sharedSecretFromKeyAgreement(with: peer)
            let key = shared.withUnsafeBytes { SymmetricKey(data: $0) }
            return Array(HMAC<SHA256>.authenticationCode(for: hash.bytes, using: key))
        } catch {
            throw .invalidPoint
        }
    }
}

/// ID of 1 to 1,024 bytes that a relay uses to wake a phone.
///
/// The phone's vendor chooses it. It identifies the user's phone, so it is never logged.
public struct ContactID: Hashable, Sendable, SecretMaterial {
    /// The bytes.
    public let bytes: [UInt8]

    /// Creates an ID from 1 to 1,024 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard (1...1024).contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }
}

/// ID of one of the phone's links; 8 bytes.
public struct LinkID: Hashable, Sendable {
    /// The 8 bytes.
    public let bytes: [UInt8]

    /// Creates an ID from 8 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 8 else { return nil }
        self.bytes = Array(bytes)
    }
}
