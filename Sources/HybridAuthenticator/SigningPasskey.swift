// SPDX-License-Identifier: Apache-2.0

private import Crypto
internal import HybridCTAP

/// A passkey whose use was agreed to, and what it says to a client: authenticator data, signatures, answers of extensions.
struct SigningPasskey {
    private let passkey: Passkey
    private let isBackedUp: Bool

    /// - Parameter isBackedUp: Whether the passkeys of its store exist in a second place.
    init(_ passkey: Passkey, isBackedUp: Bool) {
        self.passkey = passkey
        self.isBackedUp = isBackedUp
    }

    /// The response to the request for which it was made.
    func creation(for request: MakeCredentialRequest) throws(AuthenticatorFailure) -> MakeCredentialResponse {
        let data = authenticatorData(isNew: true)
        var response =
            Self.givesPacked(request)
            ? MakeCredentialResponse(
                authenticatorData: data,
                selfAttestation: try sign(data, request.clientDataHash),
                algorithm: .es256
            ) : MakeCredentialResponse(authenticatorData: data)
        if let prf = request.prf {
            let answer = prf.salts.flatMap { passkey.prfSecret?.answer($0) }
            response.unsignedExtensionOutputs =
                PRFOutput(isEnabled: passkey.prfSecret != nil, first: answer?.first, second: answer?.second)
                .unsignedExtensionOutputs
        }
        return response
    }

    /// The response to a request to sign in with it.
    func assertion(for request: GetAssertionRequest) throws(AuthenticatorFailure) -> GetAssertionResponse {
        let data = authenticatorData(isNew: false)
        let signature = try sign(data, request.clientDataHash)
        let answer = request.prf?.salts(for: passkey.id).flatMap { passkey.prfSecret?.answer($0) }
        // Who signed in without saying who they are is told by the handle alone; names stay here, as on phones.
        let discovered = request.allowList.isEmpty
        return GetAssertionResponse(
            credential: CredentialDescriptor(id: passkey.id),
            authenticatorData: data,
            signature: signature,
            user: discovered ? UserEntity(id: passkey.user.id, name: "", displayName: "") : nil,
            userSelected: discovered,
            unsignedExtensionOutputs: answer.map {
                PRFOutput(first: $0.first, second: $0.second).unsignedExtensionOutputs
            }
        )
    }

    /// Whether the answer carries a self attestation.
    ///
    /// A client that names formats gets the first of them that is known here. Most browsers name none, whatever the
    /// site asked for, and take the statement away themselves unless it asked for one: so they are given it.
    private static func givesPacked(_ request: MakeCredentialRequest) -> Bool {
        guard !request.attestationFormats.isEmpty else { return true }
        let supported = Authenticator.info.attestationFormats
        return request.attestationFormats.first { supported.contains($0) } == AttestationObject.packedFormat
    }

    /// Signs what the authenticator says and the hash that was received, whatever it is a hash of.
    private func sign(_ data: AuthenticatorData, _ hash: ClientDataHash) throws(AuthenticatorFailure) -> [UInt8] {
        do {
            return Array(try passkey.privateKey.signature(for: data.encoded + hash.bytes).derRepresentation)
        } catch {
            throw .internalFault("the key could not sign")
        }
    }

    private func authenticatorData(isNew: Bool) -> AuthenticatorData {
        var flags: AuthenticatorData.Flags = [.userPresent, .userVerified]
        if passkey.isBackupEligible { flags.insert(.backupEligible) }
        // A backup that was made before knows nothing of a passkey that is made now.
        if passkey.isBackupEligible && isBackedUp && !isNew { flags.insert(.backedUp) }
        return AuthenticatorData(
            relyingPartyIDHash: passkey.relyingParty.hash,
            flags: flags,
            // Passkeys that may live on several devices can't count their uses; 0 says so.
            signatureCount: 0,
            attestedCredential: isNew
                ? AttestedCredential(
                    aaguid: Authenticator.aaguid,
                    id: passkey.id,
                    publicKey: COSEKey(passkey.privateKey.publicKey)
                ) : nil
        )
    }
}
