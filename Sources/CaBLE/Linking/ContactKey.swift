// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// The Ed25519 key with which a phone proves that a contact ID is its own.
///
/// A phone has one contact key for each link.
public struct ContactKey: FixedLengthBytes, Sendable, SecretMaterial {
    /// Length of the stored form in bytes.
    public static let length = 32

    private let seed: SymmetricKey
    private let key: Curve25519.Signing.PrivateKey

    /// Creates a random key.
    public init() {
        self.init(seed: SymmetricKey(size: .bits256))
    }

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.init(seed: SymmetricKey(data: Array(bytes))) }

    private init(seed: SymmetricKey) {
        guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed) else {
            preconditionFailure("any 32 bytes are an Ed25519 seed (RFC 8032 §5.1.5)")
        }
        (self.seed, self.key) = (seed, key)
    }

    /// The public key.
    public var publicKey: ContactPublicKey { ContactPublicKey(checked: Array(key.publicKey.rawRepresentation)) }

    /// Signs a statement about the key's contact ID.
    public func sign(_ statement: ContactStatement) -> ContactSignature {
        guard let signature = try? key.signature(for: statement.bytes) else {
            preconditionFailure("Ed25519 signs any message")
        }
        return ContactSignature(checked: Array(signature))
    }

    /// Calls `body` with the 32 bytes of the stored form, which are as secret as the key.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try seed.withUnsafeBytes(body)
    }
}

/// The public part of a contact key; never logged, because it identifies the phone.
///
/// No signature verifies with bytes that are not a point of the curve.
public struct ContactPublicKey: FixedLengthBytes, Hashable, Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 32

    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// The contact ID of this key.
    public var contactID: ContactID { ContactID(of: self) }

    /// Returns true if the owner of this key signed a statement about the key's own contact ID.
    ///
    /// A statement about another key's contact ID never verifies, because no phone can speak for another one.
    public func verifies(_ signature: ContactSignature, of statement: ContactStatement) -> Bool {
        guard statement.contactID == contactID, let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
        else { return false }
        return key.isValidSignature(signature.bytes, for: statement.bytes)
    }
}

/// An Ed25519 signature of a ``ContactStatement``; 64 bytes.
public struct ContactSignature: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 64

    /// The 64 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}

/// A statement of a phone about its contact ID, valid at one relay only.
///
/// The host is the relay's configured name in lower case. It prevents a relay from presenting a signature elsewhere.
public enum ContactStatement: Hashable, Sendable {
    /// The phone waits for wake-ups of this contact ID on the connection that began with this challenge.
    case listen(host: String, ListenChallenge, ContactID)
    /// The contact ID is revoked.
    case gone(host: String, ContactID)

    /// The contact ID.
    var contactID: ContactID {
        switch self {
        case .listen(_, _, let contact), .gone(_, let contact): contact
        }
    }

    /// The bytes that are signed; the text in front separates the two statements.
    ///
    /// The host has no length in front. The parts after it have fixed lengths, because a verified contact ID has 25
    /// bytes.
    public var bytes: [UInt8] {
        switch self {
        case .listen(let host, let challenge, let contact):
            Array("hybrid-relay listen v1".utf8) + host.utf8 + challenge.bytes + contact.bytes
        case .gone(let host, let contact): Array("hybrid-relay gone v1".utf8) + host.utf8 + contact.bytes
        }
    }
}

/// The 32 random bytes that a relay chooses for each connection of a phone.
public struct ListenChallenge: RandomlyChosenBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 32

    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}
