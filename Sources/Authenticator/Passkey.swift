// SPDX-License-Identifier: Apache-2.0

public import CTAP
public import Crypto

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

    /// A passkey from its parts.
    public init(
        id: CredentialID,
        relyingParty: RelyingPartyID,
        user: UserEntity,
        privateKey: P256.Signing.PrivateKey,
        isBackupEligible: Bool
    ) {
        self.id = id
        self.relyingParty = relyingParty
        self.user = user
        self.privateKey = privateKey
        self.isBackupEligible = isBackupEligible
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
