// SPDX-License-Identifier: Apache-2.0

private import HybridCBOR
public import HybridCTAP

/// One registration (WebAuthn Level 3 §5.1.3).
public struct CreationCeremony: Equatable, Sendable {
    /// What to ask a phone that can do all that is asked for.
    public let ctapRequest: MakeCredentialRequest
    /// What the website wants signed.
    public let clientData: ClientData
    let options: CreationOptions

    /// Joins options with the origin they came from.
    ///
    /// - Parameter topOrigin: The window's own page, if it is of another origin.
    public init(
        _ options: CreationOptions,
        origin: Origin,
        topOrigin: Origin? = nil
    ) throws(RelyingPartyIDError) {
        let id = try origin.relyingPartyID(claimed: options.relyingPartyID)
        clientData = ClientData(.create, challenge: options.challenge, origin: origin, topOrigin: topOrigin)
        var extensions = CBORMap()
        if let prf = options.extensions.prf { extensions.merge(prf.extensionInput) }
        if let isRequired = options.extensions.largeBlobRequired {
            extensions.merge(LargeBlobInput.support(isRequired: isRequired).extensionInput)
        }
        ctapRequest = MakeCredentialRequest(
            clientDataHash: clientData.hash,
            relyingParty: RelyingPartyEntity(id: id, name: options.relyingPartyName),
            user: options.user,
            algorithms: options.algorithms,
            excludeList: options.excludeCredentials,
            extensions: extensions.isEmpty ? nil : extensions,
            // Who wants no attestation gets none, whatever they would like of it.
            attestationFormats: options.attestation == .none ? [] : options.attestationFormats,
            residentKey: options.residentKey != .discouraged,
            // Phones always verify over hybrid, and some refuse a request that does not say so.
            userVerification: true
        )
        self.options = options
    }

    /// What to ask a phone that has introduced itself: older ones refuse what they do not know.
    public func ctapRequest(for phone: AuthenticatorInfo) throws(MissingAbility) -> MakeCredentialRequest {
        guard phone.algorithms.isEmpty || !Set(phone.algorithms).isDisjoint(with: options.algorithms) else {
            throw .algorithms
        }
        guard options.userVerification != .required || phone.options["uv"] != false else { throw .userVerification }
        var request = ctapRequest
        request.residentKey = asksResidentKey(of: phone)
        guard request.residentKey || options.residentKey != .required else { throw .discoverablePasskeys }
        if options.extensions.largeBlobRequired == true, !phone.lists(LargeBlobInput.extensionName) {
            throw .largeBlobs
        }
        request.extensions = phone.known(request.extensions)
        // Member 11 is CTAP 2.3's, and there are phones that read no member above 10.
        if phone.attestationFormats.isEmpty { request.attestationFormats = [] }
        return request
    }

    /// Whether this phone is asked for a discoverable passkey: one that keeps none is asked for another.
    private func asksResidentKey(of phone: AuthenticatorInfo) -> Bool {
        ctapRequest.residentKey && phone.options["rk"] != false
    }

    /// Checks the phone's answer and writes `RegistrationResponseJSON`.
    ///
    /// - Parameters:
    ///   - statement: The attestation statement as it came; `nil` to write it anew.
    ///   - phone: The phone that answers, as it introduced itself: what it was asked, and how it can be reached.
    public func responseJSON(
        from response: MakeCredentialResponse,
        statement: [UInt8]? = nil,
        phone: AuthenticatorInfo
    ) throws(ResponseCheckError) -> [UInt8] {
        let data = response.authenticatorData
        try ResponseCheck(relyingPartyID: ctapRequest.relyingParty.id, userVerification: options.userVerification)
            .check(data)
        guard let credential = data.attestedCredential else { throw .noNewCredential }
        guard options.algorithms.contains(credential.publicKey.algorithm) else {
            throw .algorithmNotAsked(credential.publicKey.algorithm)
        }
        guard credential.publicKey.isWellFormed else { throw .malformedKey(credential.publicKey.algorithm) }
        var members: [(String, JSONText)] = [
            ("clientDataJSON", .bytes(clientData.json)),
            ("authenticatorData", .bytes(data.encoded)),
            ("transports", .array(Self.transports(phone.transports).map { .string($0) })),
        ]
        if let publicKey = credential.publicKey.subjectPublicKeyInfo {
            members.append(("publicKey", .bytes(publicKey)))
        }
        members += [
            ("publicKeyAlgorithm", .integer(credential.publicKey.algorithm.rawValue)),
            ("attestationObject", .bytes(attestationObject(response, statement))),
        ]
        let results = options.extensions.results(
            response.unsignedExtensionOutputs,
            residentKeyAsked: asksResidentKey(of: phone)
        )
        return CredentialJSON.encode(id: credential.id, response: members, extensionResults: results)
    }

    /// A website that did not ask for attestation does not get it; the model's name stays (§5.1.3, *none*).
    private func attestationObject(_ response: MakeCredentialResponse, _ statement: [UInt8]?) -> [UInt8] {
        var object = response.attestationObject
        let isSelfAttestation =
            object.format == AttestationObject.packedFormat && object.statement["x5c"] == nil
            && response.authenticatorData.attestedCredential?.aaguid == .zero
        guard options.attestation == .none, !isSelfAttestation else {
            return statement.map(object.encoded(statement:)) ?? object.encoded
        }
        object.format = AttestationObject.noneFormat
        object.statement = [:]
        return object.encoded
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
