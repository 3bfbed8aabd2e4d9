// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPrimitives
internal import HybridWebAuthn

extension RelyingParty {
    /// Verifies the response to a sign-in (WebAuthn Level 3 §7.2).
    ///
    /// - Parameters:
    ///   - response: Response of the client.
    ///   - ceremony: Ceremony that the website began; it must not be used again.
    ///   - stored: Record whose ID is the response's `credentialID`; `nil` if there is none.
    /// - Returns: The updated record.
    /// - Throws: The first violated step.
    public func verify(
        _ response: AuthenticationResponse,
        for ceremony: PendingAuthentication,
        stored: CredentialRecord?
    ) throws(ResponseRejection) -> VerifiedAuthentication {
        try PendingAuthentication.procedure.run { () throws(ResponseRejection.Cause) in
            guard ceremony.allowed.isEmpty || ceremony.allowed.contains(response.credentialID) else {
                throw .credentialNotAllowed
            }
            guard let stored, stored.id == response.credentialID else { throw .unknownCredential }
            try Self.checkAccount(response.userHandle, ceremony, stored)
            try check(response.clientData, type: .get, ceremony.challenge)
            let data = response.authenticatorData
            try check(data, ceremony.userVerification)
            guard data.flags.contains(.backupEligible) == stored.isBackupEligible else {
                throw .changedBackupEligibility
            }
            let signed = data.encoded + response.clientData.hash
            guard let key = VerificationKey(stored.publicKey), key.isValid(response.signature, for: signed) else {
                throw .wrongSignature
            }
            // Zero on both sides means that the authenticator does not count.
            let counts = data.signatureCount != 0 || stored.signatureCount != 0
            guard !counts || data.signatureCount > stored.signatureCount else { throw .counterNotIncreased }
            let isUserVerified = data.flags.contains(.userVerified)
            var record = stored
            record.signatureCount = data.signatureCount
            record.isBackedUp = data.flags.contains(.backedUp)
            if isUserVerified { record.isUserVerificationInitialized = true }
            return VerifiedAuthentication(
                record: record,
                origin: response.clientData.origin,
                isUserVerified: isUserVerified
            )
        }
    }

    /// Checks the account of the credential (§7.2 step 6).
    private static func checkAccount(
        _ stated: UserHandle?,
        _ ceremony: PendingAuthentication,
        _ stored: CredentialRecord
    ) throws(ResponseRejection.Cause) {
        // An allow list names passkeys of an account that the website has identified.
        guard stated != nil || ceremony.user != nil || !ceremony.allowed.isEmpty else { throw .noUserHandle }
        guard stated.map({ $0 == stored.userHandle }) ?? true, ceremony.user.map({ $0 == stored.userHandle }) ?? true
        else { throw .otherAccount }
    }
}
