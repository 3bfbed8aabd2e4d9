// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import HybridCTAP
public import HybridPrimitives

/// A discoverable or non-discoverable credential with its private key.
public struct Passkey: SecretMaterial, Sendable {
    /// Identifier of the credential.
    public let id: CredentialID
    /// The relying party; the passkey works for no other.
    public let relyingParty: RelyingPartyID
    /// The account.
    public let user: UserEntity
    /// The ES256 key, in memory that swift-crypto wipes on release.
    public let privateKey: P256.Signing.PrivateKey
    /// True if the passkey may exist on several devices (backup eligibility flag, BE); fixed at creation.
    public let isBackupEligible: Bool
    /// True if a client can use the passkey without knowing its ID (a resident key); fixed at creation.
    public let isDiscoverable: Bool
    /// True if the relying party has signaled that it no longer accepts the passkey (WebAuthn Level 3 §5.1.10).
    public let isHidden: Bool
    /// The only kind of data that the passkey signs, fixed at creation; `nil` if it signs any data.
    public let signedDataKind: SignedDataKind?
    /// The secret of the `prf` outputs; `nil` if the passkey was created without one.
    public let prfSecret: PRFSecret?

    /// True if the passkey is offered to clients that do not name it.
    var isOffered: Bool { isDiscoverable && !isHidden }

    /// Creates a passkey from its parts.
    public init(
        id: CredentialID,
        relyingParty: RelyingPartyID,
        user: UserEntity,
        privateKey: P256.Signing.PrivateKey,
        isBackupEligible: Bool,
        isDiscoverable: Bool = true,
        isHidden: Bool = false,
        signedDataKind: SignedDataKind? = nil,
        prfSecret: PRFSecret? = nil
    ) {
        self.id = id
        self.relyingParty = relyingParty
        self.user = user
        self.privateKey = privateKey
        self.isBackupEligible = isBackupEligible
        self.isDiscoverable = isDiscoverable
        self.isHidden = isHidden
        self.signedDataKind = signedDataKind
        self.prfSecret = prfSecret
    }
}

/// The secret of a passkey's `prf` outputs: 32 random bytes, wiped on release.
///
/// CTAP calls it *CredRandomWithUV*. There is no *CredRandomWithoutUV*, because the user is always verified.
public struct PRFSecret: FixedLengthBytes, SecretMaterial, Sendable {
    /// Length in bytes.
    public static let length = 32

    private let key: SymmetricKey

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) {
        var copy = Array(bytes)
        defer { SecretBytes.wipe(&copy) }
        key = SymmetricKey(data: copy)
    }

    /// Creates a random secret.
    static func random() -> PRFSecret { PRFSecret(key: SymmetricKey(size: .bits256)) }

    private init(key: SymmetricKey) { self.key = key }

    /// Returns the HMAC-SHA-256 of each salt, as `hmac-secret` defines it (CTAP 2.3 §12.7).
    func answer(_ salts: PRFSalts) -> (first: PRFResult, second: PRFResult?) {
        func answer(_ salt: PRFSalt) -> PRFResult {
            PRFResult(HMAC<SHA256>.authenticationCode(for: salt.bytes, using: key))
        }
        return (answer(salts.first), salts.second.map(answer))
    }

    /// Calls `body` with the bytes, which must not be copied to memory that is not wiped.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }
}
