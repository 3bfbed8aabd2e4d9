// SPDX-License-Identifier: Apache-2.0

/// A website's requirement for user verification; unknown values mean `preferred`.
public enum UserVerificationRequirement: String, Sendable {
    /// The response must confirm user verification.
    case required
    /// User verification is preferred.
    case preferred
    /// User verification is not needed.
    case discouraged

    init(optional text: String?) { self = text.flatMap(Self.init(rawValue:)) ?? .preferred }
}

/// A website's requirement for a discoverable passkey (WebAuthn Level 3 §5.4.6).
public enum ResidentKeyRequirement: String, Sendable {
    /// The passkey must be discoverable.
    case required
    /// A discoverable passkey is preferred.
    case preferred
    /// A passkey that is not discoverable is preferred.
    case discouraged
}

/// A website's preference for attestation (WebAuthn Level 3 §5.4.7); unknown values mean `none`.
public enum AttestationConveyance: String, Sendable {
    /// No attestation.
    case none
    /// Attestation that the client may anonymize; this client does not.
    case indirect
    /// Attestation of the authenticator.
    case direct
    /// Attestation that identifies an individual authenticator.
    ///
    /// It is not available with the hybrid transport and is treated like `direct`.
    case enterprise

    init(optional text: String?) { self = text.flatMap(Self.init(rawValue:)) ?? .none }
}
