// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import HybridCTAP

/// One credential with its private key.
public struct Passkey: Sendable {
    /// Name of the credential.
    public let id: CredentialID
    /// The relying party it works for, and no other.
    public let relyingParty: RelyingPartyID
    /// The account.
    public let user: UserEntity
    /// The ES256 key; its bytes live in memory that swift-crypto wipes on release.
    public let privateKey: P256.Signing.PrivateKey
    /// Whether it may exist on several devices; fixed at creation (flag BE).
    public let isBackupEligible: Bool
    /// Whether it is offered to who signs in without saying who they are; fixed at creation.
    ///
    /// One that is not answers only to a client that names it.
    public let isDiscoverable: Bool
    /// The secret of its `prf` answers; `nil` for one that was made without.
    public let prfSecret: PRFSecret?

    /// A passkey from its parts.
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

extension Passkey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public var description: String { "Passkey(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
