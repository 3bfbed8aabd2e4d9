// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import HybridCTAP
public import HybridPrimitives

/// A discoverable or non-discoverable credential with its private key.
public struct Passkey: SecretMaterial, Sendable {
    /// Identifier of the credential.
    public let id: CredentialID
    /// The only relying party that it works for.
    public let relyingParty: RelyingPartyID
    /// The account.
    public let user: UserEntity
    /// The ES256 key, in memory that swift-crypto wipes on release.
    public let privateKey: P256.Signing.PrivateKey
    /// True if it may exist on several devices; fixed at creation (flag BE).
    public let isBackupEligible: Bool
    /// True if a client can use it without naming it (a resident key); fixed at creation.
    public let isDiscoverable: Bool
    /// The secret of its `prf` outputs; `nil` if it was created without one.
    public let prfSecret: PRFSecret?

    /// Creates a passkey from its parts.
    public init(
        id: CredentialID,
        relyingParty: RelyingPartyID,
        user: UserEntity,
        privateKey: P256.Signing.PrivateKey,
        isBackupEligible: Bool,
        isDiscoverable: Bool = true,
        prfSecret: PRFSecret? = nil
    ) {
        self.id = id
        self.relyingParty = relyingParty
        self.user = user
        self.privateKey = privateKey
        self.isBackupEligible = isBackupEligible
        self.isDiscoverable = isDiscoverable
        self.prfSecret = prfSecret
    }
}
