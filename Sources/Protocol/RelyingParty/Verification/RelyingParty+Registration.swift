// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridWebAuthn

extension RelyingParty {
    /// Verifies the response to a registration (WebAuthn Level 3 §7.1).
    ///
    /// - Parameters:
    ///   - response: Response of the client.
    ///   - ceremony: Ceremony that the website began; it must not be used again.
    ///   - isRegistered: True if any account has a record with the response's `credentialID`.
    /// - Returns: The record to store.
    /// - Throws: The first violated step.
    public func verify(
        _ response: RegistrationResponse,
        for ceremony: PendingRegistration,
        isRegistered: Bool
    ) async throws(ResponseRejection) -> VerifiedRegistration {
        let procedure = PendingRegistration.procedure
        let (record, statement) = try procedure.run { () throws(ResponseRejection.Cause) in
            try checkedRecord(response, ceremony)
        }
        let kind = await statement.kind(trusting: attestation.roots)
        return try procedure.run { () throws(ResponseRejection.Cause) in
            guard !attestation.requiresTrust || kind == .certificate(isTrusted: true) else {
                throw .untrustedAttestation
            }
            guard !isRegistered else { throw .alreadyRegistered }
            return VerifiedRegistration(
                record: record,
                origin: response.clientData.origin,
                aaguid: response.attestationObject.authenticatorData.attestedCredential?.aaguid ?? .zero,
                attestation: kind,
                isDiscoverable: response.isDiscoverable
            )
        }
    }

    /// Runs the steps before the trust in the attestation is assessed (steps 7 to 23).
    func checkedRecord(
        _ response: RegistrationResponse,
        _ ceremony: PendingRegistration
    ) throws(ResponseRejection.Cause) -> (record: CredentialRecord, statement: VerifiedStatement) {
        try check(response.clientData, type: .create, ceremony.challenge)
        let object = response.attestationObject
        let data = object.authenticatorData
        try check(data, ceremony.userVerification, requiresPresence: !ceremony.isConditional)
        guard let credential = data.attestedCredential else { throw .noCredential }
        guard credential.id == response.credentialID else { throw .otherCredential }
        guard ceremony.algorithms.contains(credential.publicKey.algorithm) else { throw .algorithmNotRequested }
        guard let key = VerificationKey(credential.publicKey) else { throw .malformedKey }
        let statement = try object.verifiedStatement(
            credential: credential,
            key: key,
            signed: data.encoded + response.clientData.hash
        )
        let record = CredentialRecord(
            id: credential.id,
            userHandle: ceremony.user.id,
            publicKey: credential.publicKey,
            signatureCount: data.signatureCount,
            isUserVerificationInitialized: data.flags.contains(.userVerified),
            transports: response.transports,
            isBackupEligible: data.flags.contains(.backupEligible),
            isBackedUp: data.flags.contains(.backedUp)
        )
        return (record, statement)
    }
}
