// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
internal import HybridPrimitives
public import HybridWebAuthn

/// A sign-in whose response has not arrived.
public struct PendingAuthentication: PendingCeremony {
    /// Procedure that verifies the response.
    public static let procedure = ResponseRejection.Procedure.authentication

    /// Challenge that the response must repeat.
    public let challenge: Challenge
    /// Account that signs in; `nil` if the response will state it.
    public let user: UserHandle?
    /// Acceptable credentials; empty if any credential is acceptable.
    public let allowed: [CredentialID]
    /// Requirement for user verification.
    public let userVerification: UserVerificationRequirement
    /// `PublicKeyCredentialRequestOptionsJSON` for `PublicKeyCredential.parseRequestOptionsFromJSON()`, in UTF-8.
    public let optionsJSON: [UInt8]
}

extension RelyingParty {
    /// Begins a sign-in (WebAuthn Level 3 §7.2, step 1).
    ///
    /// - Parameters:
    ///   - user: Account that signs in, if the website knows it; for example, to confirm a payment.
    ///   - allowed: Passkeys of the account; empty to let the client offer every discoverable passkey.
    public func beginAuthentication(
        of user: UserHandle? = nil,
        allowed: [CredentialRecord] = []
    ) -> PendingAuthentication {
        let challenge = Challenge.random()
        let options = JSONText.object([
            ("challenge", .bytes(challenge.bytes)),
            ("timeout", .number(timeout.milliseconds)),
            ("rpId", .string(id.text)),
            ("allowCredentials", .array(allowed.map(\.descriptorJSON))),
            ("userVerification", .string(userVerification.rawValue)),
        ])
        return PendingAuthentication(
            challenge: challenge,
            user: user,
            allowed: allowed.map(\.id),
            userVerification: userVerification,
            optionsJSON: Array(options.serialized(.terminalSafe).utf8)
        )
    }
}
