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
    /// Key 5: name of the phone, at most 255 bytes of UTF-8; untrusted text.
    public let name: String
    /// Key 6: proof that the sender holds the static key, bound to this session; 32 bytes.
    let signature: [UInt8]
    /// Key 1000: true if the phone accepts only a ``ContactRequest`` with proven claims; an extension of this project.
    ///
    /// The value is the version of ``ContactClaims``.
    public let announcesProof: Bool

    /// Creates linking information from a CBOR map; `nil` if a value is missing or has the wrong type or length.
    init?(_ value: CBORValue) {
        guard let map = value.map,
            let contactID = map[1]?.bytes.flatMap({ ContactID(bytes: $0) }),
            let linkID = map[2]?.bytes.flatMap({ LinkID(bytes: $0) }),
            let secret = map[3]?.bytes.flatMap({ LinkSecret(bytes: $0) }),
            let point = map[4]?.bytes, point.count == 65,
            let key = try? P256.KeyAgreement.PublicKey(x963Representation: point),
            let name = map[5]?.text, name.utf8.count <= Self.maximumNameLength,
            let signature = map[6]?.bytes, signature.count == 32,
            // Phones with the first version accept only proofs that are no longer sent.
            map[1000] != .boolean(true)
        else { return nil }
        self.contactID = contactID
        self.linkID = linkID
        self.secret = secret
        self.authenticatorKey = key
        self.name = name
        self.signature = signature
        self.announcesProof = map[1000] == Self.proofVersion
    }

    /// Maximum length of a name in bytes of UTF-8.
    static let maximumNameLength = 255
    private static let proofVersion = CBORValue.integer(Int(ContactClaims.version))

    /// Creates linking information and authenticates it for the session with this handshake hash.
    ///
    /// - Parameters:
    ///   - contactID: ID that the relay uses to wake the phone.
    ///   - linkID: ID of the link.
    ///   - secret: Secret of the link.
    ///   - authenticatorKey: Static key of the phone.
    ///   - name: Name of the phone, at most 255 bytes of UTF-8.
    ///   - clientKey: Key of the QR code.
    ///   - handshakeHash: Handshake hash of the session.
    ///   - announcesProof: True if the phone accepts only a ``ContactRequest`` with proven claims.
    /// - Throws: ``LinkingError``.
    public init(
        contactID: ContactID,
        linkID: LinkID,
        secret: LinkSecret,
        authenticatorKey: P256.KeyAgreement.PrivateKey,
        name: String,
        clientKey: P256.KeyAgreement.PublicKey,
        handshakeHash: HandshakeHash,
        announcesProof: Bool = true
    ) throws(LinkingError) {
        guard name.utf8.count <= Self.maximumNameLength else { throw .tooLong }
        self.contactID = contactID
        self.linkID = linkID
        self.secret = secret
        self.authenticatorKey = authenticatorKey.publicKey
        self.name = name
        self.announcesProof = announcesProof
        guard let signature = Self.signature(own: authenticatorKey, peer: clientKey, hash: handshakeHash) else {
            throw .invalidPoint
        }
        self.signature = signature
        guard ChannelMessage.room(besides: [1: .map(map)]) >= 0 else { throw .tooLong }
    }

    /// Returns true if a contact ID and a name fit into an update, whose length is fixed.
    public static func fits(_ contactID: ContactID, name: String) -> Bool {
        guard name.utf8.count <= maximumNameLength else { return false }
        let map: CBORMap = [
            1: .bytes(contactID.bytes), 2: .bytes([UInt8](repeating: 0, count: 8)),
            3: .bytes([UInt8](repeating: 0, count: 32)), 4: .bytes([UInt8](repeating: 0, count: 65)), 5: .text(name),
            6: .bytes([UInt8](repeating: 0, count: 32)), 1000: proofVersion,
        ]
        return ChannelMessage.room(besides: [1: .map(map)]) >= 0
    }

    /// Returns true if the authenticator proved possession of its static key in this session.
    ///
    /// The proof is the HMAC-SHA256 of the handshake hash. Its key is the ECDH of the authenticator's static key and
    /// the client key, so only the owner of the client key can verify it. The comparison takes constant time.
    public func isAuthentic(clientKey: P256.KeyAgreement.PrivateKey, handshakeHash: HandshakeHash) -> Bool {
        guard let expected = Self.signature(own: clientKey, peer: authenticatorKey, hash: handshakeHash) else {
            return false
        }
        return ConstantTime.equal(expected, signature)
    }

    var map: CBORMap {
        var map: CBORMap = [
            1: .bytes(contactID.bytes),
            2: .bytes(linkID.bytes),
            3: .bytes(secret.withUnsafeBytes { Array($0) }),
            4: .bytes(Array(authenticatorKey.x963Representation)),
            5: .text(name),
            6: .bytes(signature),
        ]
        if announcesProof { map[1000] = Self.proofVersion }
        return map
    }

    private static func signature(
        own: P256.KeyAgreement.PrivateKey,
        peer: P256.KeyAgreement.PublicKey,
        hash: HandshakeHash
    ) -> [UInt8]? {
        guard let shared = try? own.sharedSecretFromKeyAgreement(with: peer) else { return nil }
        let key = shared.withUnsafeBytes { SymmetricKey(data: $0) }
        return Array(HMAC<SHA256>.authenticationCode(for: hash.bytes, using: key))
    }
}

/// A reason why linking information cannot be created.
public struct LinkingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The client's key is not a point of the curve.
    public static let invalidPoint = LinkingError("invalidPoint")
    /// Contact ID and name do not fit into an update, whose length is fixed.
    public static let tooLong = LinkingError("tooLong")

    /// The error's name.
    public let description: String

    private init(_ description: String) { self.description = description }
}

/// ID of one of the phone's links; 8 bytes.
public struct LinkID: RandomlyChosenBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 8

    /// The 8 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}
