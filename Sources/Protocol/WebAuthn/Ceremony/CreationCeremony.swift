// SPDX-License-Identifier: Apache-2.0

private import HybridCBOR
public import HybridCTAP
internal import HybridPrimitives

/// A registration (WebAuthn Level 3 §5.1.3).
public struct CreationCeremony: Equatable, Sendable {
    /// The request for a phone that supports all features that the website requests.
    public let ctapRequest: MakeCredentialRequest
    /// Client data of the registration.
    public let clientData: ClientData
    let options: CreationOptions

    /// Creates a registration from options and the origin of the page.
    ///
    /// - Parameters:
    ///   - options: Options of the website.
    ///   - origin: Origin of the calling page.
    ///   - topOrigin: Origin of the top-level page, if the calling page is a frame of another origin.
    ///   - related: The relying party's permission for an origin of another domain.
    /// - Throws: ``RelyingPartyIDError`` if the origin may not use the relying party ID.
    public init(
        _ options: CreationOptions,
        origin: Origin,
        topOrigin: Origin? = nil,
        related: RelatedOrigin? = nil
    ) throws(RelyingPartyIDError) {
        let id = try origin.relyingPartyID(claimed: options.relyingPartyID, related: related)
        clientData = ClientData(.create, challenge: options.challenge, origin: origin, topOrigin: topOrigin)
        var extensions = CBORMap()
        if let prf = options.extensions.prf { extensions.merge(prf.extensionInput) }
        if let isRequired = options.extensions.largeBlobRequired {
            extensions.merge(LargeBlobInput.support(isRequired: isRequired).extensionInput)
        }
        if let protection = options.extensions.credentialProtection { extensions.merge(protection.extensionInput) }
        ctapRequest = MakeCredentialRequest(
            clientDataHash: clientData.hash,
            relyingParty: RelyingPartyEntity(id: id, name: options.relyingPartyName),
            user: options.user,
            algorithms: options.algorithms,
            excludeList: options.excludeCredentials,
            extensions: extensions.isEmpty ? nil : extensions,
            // A website that requests no attestation has no use for formats.
            attestationFormats: options.attestation == .none ? [] : options.attestationFormats,
            residentKey: options.residentKey != .discouraged,
            // Phones always verify the user in hybrid ceremonies, and some reject a request without this option.
            userVerification: true
        )
        self.options = options
    }

    /// Returns the request for a phone with this description.
    ///
    /// Features that the phone does not list are omitted, because older phones reject unknown ones.
    public func ctapRequest(for phone: AuthenticatorInfo) throws(MissingAbility) -> MakeCredentialRequest {
        guard phone.algorithms.isEmpty || !Set(phone.algorithms).isDisjoint(with: options.algorithms) else {
            throw .algorithms
        }
        guard options.userVerification != .required || phone.options["uv"] != false else { throw .userVerification }
        var request = ctapRequest
        request.residentKey = requestsResidentKey(from: phone)
        guard request.residentKey || options.residentKey != .required else { throw .discoverablePasskeys }
        if options.extensions.largeBlobRequired == true, !phone.lists(LargeBlobInput.extensionName) {
            throw .largeBlobs
        }
        // CTAP 2.2 §12.1: without this extension, the new passkey might have no protection at all.
        if options.extensions.enforcesCredentialProtection, let wanted = options.extensions.credentialProtection,
            wanted != .userVerificationOptional, !phone.lists(CredentialProtection.extensionName)
        {
            throw .credentialProtection
        }
        request.excludeList = phone.possible(request.excludeList)
        request.extensions = phone.known(request.extensions)
        // Member 11 is new in CTAP 2.3, and some phones reject members above 10.
        if phone.attestationFormats.isEmpty { request.attestationFormats = [] }
        return request
    }

    /// Returns true if the request requires a discoverable passkey, which this phone must support.
    private func requestsResidentKey(from phone: AuthenticatorInfo) -> Bool {
        ctapRequest.residentKey && phone.options["rk"] != false
    }

    /// Checks the phone's response and returns a `RegistrationResponseJSON`.
    ///
    /// - Parameters:
    ///   - response: Response of the phone.
    ///   - statement: The original bytes of the attestation statement; `nil` to use its canonical encoding.
    ///   - phone: Description of the phone, which determines the request and the transports.
    public func responseJSON(
        from response: MakeCredentialResponse,
        statement: [UInt8]? = nil,
        phone: AuthenticatorInfo
    ) throws(ResponseCheckError) -> [UInt8] {
        let data = response.authenticatorData
        try data.check(for: ctapRequest.relyingParty.id, options.userVerification)
        guard let credential = data.attestedCredential else { throw .noNewCredential }
        guard options.algorithms.contains(credential.publicKey.algorithm) else {
            throw .algorithmNotRequested(credential.publicKey.algorithm)
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
            ("publicKeyAlgorithm", .number(credential.publicKey.algorithm.rawValue)),
            ("attestationObject", .bytes(attestationObject(response, statement))),
        ]
        let results = options.extensions.results(
            response.unsignedExtensionOutputs,
            residentKeyRequested: requestsResidentKey(from: phone)
        )
        return JSONText.credential(id: credential.id, response: members, extensionResults: results)
    }

    /// Returns the attestation object, from which the attestation is removed unless the website requested it.
    ///
    /// In either case the AAGUID is preserved (§5.1.3, *none*).
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

    /// Returns unique and sorted transports, as WebAuthn requires.
    ///
    /// The result always includes `hybrid`, because that transport is in use.
    private static func transports(_ names: [String]) -> [String] {
        // Older phones send the former name of the hybrid transport.
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
