// SPDX-License-Identifier: Apache-2.0

private import CBOR
public import CTAP

/// One registration (WebAuthn Level 3 §5.1.3).
public struct CreationCeremony: Equatable, Sendable {
    /// What to ask the phone.
    public let ctapRequest: MakeCredentialRequest
    /// What the website wants signed.
    public let clientData: ClientData
    private let options: CreationOptions

    /// Joins options with the origin they came from.
    public init(_ options: CreationOptions, origin: Origin) throws(RelyingPartyIDError) {
        let id = try origin.relyingPartyID(claimed: options.relyingPartyID)
        clientData = ClientData(.create, challenge: options.challenge, origin: origin)
        ctapRequest = MakeCredentialRequest(
            clientDataHash: clientData.hash,
            relyingParty: RelyingPartyEntity(id: id, name: options.relyingPartyName),
            user: options.user,
            algorithms: options.algorithms,
            excludeList: options.excludeCredentials,
            residentKey: options.residentKey,
            // Phones always verify over hybrid, and some refuse a request that does not say so.
            userVerification: true
        )
        self.options = options
    }

    /// Checks the phone's answer and writes `RegistrationResponseJSON`.
    public func responseJSON(
        from response: MakeCredentialResponse,
        transports: [String]
    ) throws(ResponseCheckError) -> [UInt8] {
        let data = response.authenticatorData
        try ResponseCheck(relyingPartyID: ctapRequest.relyingParty.id, userVerification: options.userVerification)
            .check(data)
        guard let credential = data.attestedCredential else { throw .noNewCredential }
        guard options.algorithms.contains(credential.publicKey.algorithm) else {
            throw .algorithmNotAsked(credential.publicKey.algorithm)
        }
        var members: [(String, JSONText)] = [
            ("clientDataJSON", .bytes(clientData.json)),
            ("authenticatorData", .bytes(data.encoded)),
            ("transports", .array(Self.transports(transports).map { .string($0) })),
        ]
        if let publicKey = credential.publicKey.subjectPublicKeyInfo {
            members.append(("publicKey", .bytes(publicKey)))
        }
        members += [
            ("publicKeyAlgorithm", .integer(credential.publicKey.algorithm.rawValue)),
            ("attestationObject", .bytes(attestation(response).encoded)),
        ]
        // The phone does not tell; what was asked for and not refused was done.
        let properties: [(String, JSONText)] = options.residentKey ? [("rk", .boolean(true))] : []
        return CredentialJSON.encode(
            id: credential.id,
            response: members,
            extensionResults: options.wantsCredentialProperties ? [("credProps", .object(properties))] : []
        )
    }

    /// A website that did not ask for attestation does not get it; the model's name stays (§5.1.3, *none*).
    private func attestation(_ response: MakeCredentialResponse) -> AttestationObject {
        var object = response.attestationObject
        let isSelfAttestation =
            object.format == "packed" && object.statement["x5c"] == nil
            && response.authenticatorData.attestedCredential?.aaguid == .zero
        if !options.wantsAttestation, !isSelfAttestation {
            object.format = AttestationObject.noneFormat
            object.statement = [:]
        }
        return object
    }

    /// Each once and sorted, as WebAuthn says; `hybrid` is certain, because the answer came that way.
    private static func transports(_ names: [String]) -> [String] {
        // Older phones use the working name of the protocol.
        let known = names.map { $0 == "cable" ? "hybrid" : $0 }
        let plain = known.filter { name in
            (1...32).contains(name.utf8.count)
                && name.utf8.allSatisfy {
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-")
                }
        }
        return Set(plain + ["hybrid"]).sorted()
    }
}
