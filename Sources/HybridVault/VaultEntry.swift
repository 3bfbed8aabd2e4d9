// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
public import HybridCTAP

/// A passkey in a list: everything but its key.
public struct VaultEntry: Sendable, Equatable {
    /// Name of its record.
    public let record: RecordID
    /// Name of the credential; `nil` when this version can't read it.
    public let credential: CredentialID?
    /// The relying party; `nil` when this version can't read it.
    public let relyingParty: RelyingPartyID?
    /// The account; `nil` when this version can't read it.
    public let user: UserEntity?
    /// When it was made, in seconds since 1970 by the clock of the device that made it.
    public let created: UInt64
    /// Whether it is offered to who signs in without saying who they are.
    public let isDiscoverable: Bool
    /// Whether it answers `prf`.
    public let hasPRFSecret: Bool
    /// Whether this version can sign with it.
    public let isUsable: Bool

    init(record: RecordID, body: PasskeyBody) {
        self.record = record
        self.credential = body.id
        self.relyingParty = body.relyingParty
        self.user = body.user
        self.created = body.created
        let passkey = body.passkey
        self.isDiscoverable = passkey?.isDiscoverable ?? false
        self.hasPRFSecret = passkey?.prfSecret != nil
        self.isUsable = passkey != nil
    }
}
