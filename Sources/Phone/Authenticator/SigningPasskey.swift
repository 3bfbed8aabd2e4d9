// SPDX-License-Identifier: Apache-2.0

private import Crypto
internal import HybridCBOR
internal import HybridCTAP

/// A signer for one passkey, which creates authenticator data, signatures and extension outputs.
struct SigningPasskey {
    private let passkey: Passkey
    private let isBackedUp: Bool

    /// Creates a signer for `passkey`.
    ///
    /// - Parameters:
    ///   - passkey: The passkey that the user agreed to create or use.
    ///   - isBackedUp: True if the passkeys of its store also exist in a second place.
    init(_ passkey: Passkey, isBackedUp: Bool) {
        self.passkey = passkey
        self.isBackedUp = isBackedUp
    }

    /// Returns the response to the request that created the passkey.
    func creation(for request: MakeCredentialRequest) throws(AuthenticatorFailure) -> MakeCredentialResponse {
        let algorithm = Self.algorithm(request) ?? .es256
        // Each use is verified, which is the strictest protection. The output repeats the request, because clients such as
        // libfido2 compare both.
        let data = authenticatorData(new: algorithm, request.credentialProtection?.extensionInput)
        var response =
            Self.selfAttests(request)
            ? MakeCredentialResponse(
                authenticatorData: data,
                selfAttestation: try sign(data, request.clientDataHash),
                algorithm: algorithm
            ) : MakeCredentialResponse(authenticatorData: data)
        if let prf = request.prf {
            let answer = prf.salts.flatMap { passkey.prfSecret?.answer($0) }
            response.unsignedExtensionOutputs =
                PRFOutput(isEnabled: passkey.prfSecret != nil, first: answer?.first, second: answer?.second)
                .unsignedExtensionOutputs
        }
        return response
    }

    /// Returns the response to a sign-in request.
    func assertion(for request: GetAssertionRequest) throws(AuthenticatorFailure) -> GetAssertionResponse {
        let data = authenticatorData()
        let signature = try sign(data, request.clientDataHash)
        let answer = request.prf?.salts(for: passkey.id).flatMap { passkey.prfSecret?.answer($0) }
        // The user handle belongs to each discoverable passkey, also with an allow list (CTAP 2.2 §6.2.2). Names are not
        // sent, as on phones: the account was chosen here.
        let user = UserEntity(id: passkey.user.id, name: "", displayName: "")
        return GetAssertionResponse(
            credential: CredentialDescriptor(id: passkey.id),
            authenticatorData: data,
            signature: signature,
            user: passkey.isDiscoverable ? user : nil,
            userSelected: request.allowList.isEmpty,
            unsignedExtensionOutputs: answer.map {
                PRFOutput(first: $0.first, second: $0.second).unsignedExtensionOutputs
            }
        )
    }

    /// Returns the first of the requested algorithms that the keys are for; `nil` if there is none.
    static func algorithm(_ request: MakeCredentialRequest) -> COSEAlgorithm? {
        request.algorithms.first(where: \.isP256)
    }

    /// Returns true if the response carries a self attestation.
    ///
    /// A client that lists formats gets the first supported one. Most browsers list none, whatever the site requested,
    /// and remove the attestation statement unless the site requested it. They get a self attestation. An SSH key makes
    /// none, because it signs SSH data only.
    private static func selfAttests(_ request: MakeCredentialRequest) -> Bool {
        guard request.signedDataKind == nil else { return false }
        guard !request.attestationFormats.isEmpty else { return true }
        let supported = Authenticator.info.attestationFormats
        return request.attestationFormats.first { supported.contains($0) } == AttestationObject.packedFormat
    }

    /// Returns a DER signature of the authenticator data and the client data hash.
    private func sign(_ data: AuthenticatorData, _ hash: ClientDataHash) throws(AuthenticatorFailure) -> [UInt8] {
        do {
            return Array(try passkey.privateKey.signature(for: data.encoded + hash.bytes).derRepresentation)
        } catch {
            throw .internalFault("the key could not sign")
        }
    }

    /// Returns authenticator data, which contain the passkey's key with this algorithm if it is new.
    private func authenticatorData(
        new algorithm: COSEAlgorithm? = nil,
        _ outputs: CBORMap? = nil
    ) -> AuthenticatorData {
        var flags: AuthenticatorData.Flags = [.userPresent, .userVerified]
        if passkey.isBackupEligible { flags.insert(.backupEligible) }
        // An existing backup cannot contain a passkey that was just created.
        if passkey.isBackupEligible && isBackedUp && algorithm == nil { flags.insert(.backedUp) }
        return AuthenticatorData(
            relyingPartyIDHash: passkey.relyingParty.hash,
            flags: flags,
            // 0 means no counter: a passkey that may exist on several devices cannot count its uses.
            signatureCount: 0,
            attestedCredential: algorithm.map { algorithm in
                AttestedCredential(
                    aaguid: Authenticator.aaguid,
                    id: passkey.id,
                    publicKey: COSEKey(passkey.privateKey.publicKey, algorithm: algorithm)
                )
            },
            extensions: outputs
        )
    }
}
