// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
public import HybridCTAP

/// A passkey without its private key, for lists.
public struct PasskeySummary: Sendable, Equatable {
    /// ID of its record.
    public let record: RecordID
    /// Credential ID; `nil` if this version cannot read it.
    public let credential: CredentialID?
    /// Relying party; `nil` if this version cannot read it.
    public let relyingParty: RelyingPartyID?
    /// Account; `nil` if this version cannot read it.
    public let user: UserEntity?
    /// Time of creation in seconds since 1970, by the clock of the device that created it.
    public let created: UInt64
    /// True if the passkey is offered to clients that do not name it.
    public let isDiscoverable: Bool
    /// True if the passkey supports the `prf` extension.
    public let hasPRFSecret: Bool
    /// True if this version can sign with it.
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
