// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// A registered passkey as the relying party stores it (*credential record*, WebAuthn Level 3 §4).
public struct CredentialRecord: Hashable, Sendable {
    /// ID of the credential; unique among all accounts.
    public let id: CredentialID
    /// Account to which the credential belongs.
    public let userHandle: UserHandle
    /// Key that verifies signatures; store `encoded`, and read it with `COSEKey(parsing:)`.
    public let publicKey: COSEKey
    /// Last signature counter; 0 if the authenticator does not count.
    public var signatureCount: UInt32
    /// True if the user was verified at registration or at a later sign-in.
    public var isUserVerificationInitialized: Bool
    /// Transports that the client reported, for allow and exclude lists.
    public var transports: [String]
    /// True if the passkey may be backed up (flag BE); it never changes.
    public let isBackupEligible: Bool
    /// True if the passkey was backed up at its last use (flag BS).
    public var isBackedUp: Bool

    /// Creates a record from stored members.
    public init(
        id: CredentialID,
        userHandle: UserHandle,
        publicKey: COSEKey,
        signatureCount: UInt32,
        isUserVerificationInitialized: Bool,
        transports: [String],
        isBackupEligible: Bool,
        isBackedUp: Bool
    ) {
        self.id = id
        self.userHandle = userHandle
        self.publicKey = publicKey
        self.signatureCount = signatureCount
        self.isUserVerificationInitialized = isUserVerificationInitialized
        self.transports = transports
        self.isBackupEligible = isBackupEligible
        self.isBackedUp = isBackedUp
    }

    /// The credential in allow and exclude lists.
    public var descriptor: CredentialDescriptor { CredentialDescriptor(id: id, transports: transports) }
}

/// A verified registration.
public struct VerifiedRegistration: Hashable, Sendable {
    /// Record to store.
    ///
    /// The store must reject an ID that another request has added in the meantime.
    public let record: CredentialRecord
    /// Origin of the page.
    public let origin: String
    /// Model of the authenticator or passkey provider; trusted only if ``attestation`` is.
    public let aaguid: AAGUID
    /// Verified attestation.
    public let attestation: VerifiedAttestation
    /// True if a client can offer the passkey without an allow list; `nil` if the client does not report it.
    public let isDiscoverable: Bool?
}

/// The kind of a verified attestation (WebAuthn Level 3 §6.5.3).
public enum VerifiedAttestation: Hashable, Sendable {
    /// No attestation.
    case none
    /// Signature by the credential itself, which proves no model.
    case selfAttestation
    /// Signature by an attestation certificate; trusted if it has a chain to one of the policy's certificates.
    case certificate(isTrusted: Bool)
}

/// A verified sign-in.
public struct VerifiedAuthentication: Hashable, Sendable {
    /// Updated record, which replaces the stored one.
    public let record: CredentialRecord
    /// Origin of the page.
    public let origin: String
    /// True if the user was verified (flag UV).
    public let isUserVerified: Bool
}
