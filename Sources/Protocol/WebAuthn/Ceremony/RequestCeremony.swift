// SPDX-License-Identifier: Apache-2.0

private import HybridCBOR
public import HybridCTAP
internal import HybridPrimitives

/// A sign-in (WebAuthn Level 3 §5.1.4).
public struct RequestCeremony: Equatable, Sendable {
    /// The request for a phone that supports all features that the website requests.
    public let ctapRequest: GetAssertionRequest
    /// Client data of the sign-in.
    public let clientData: ClientData
    let options: RequestOptions

    /// Creates a sign-in from options and the origin of the page.
    ///
    /// - Parameters:
    ///   - options: Options of the website.
    ///   - origin: Origin of the calling page.
    ///   - topOrigin: Origin of the top-level page, if the calling page is a frame of another origin.
    ///   - related: The relying party's permission for an origin of another domain.
    /// - Throws: ``RelyingPartyIDError`` if the origin may not use the relying party ID.
    public init(
        _ options: RequestOptions,
        origin: Origin,
        topOrigin: Origin? = nil,
        related: RelatedOrigin? = nil
    ) throws(RelyingPartyIDError) {
        let id = try origin.relyingPartyID(claimed: options.relyingPartyID, related: related)
        clientData = ClientData(.get, challenge: options.challenge, origin: origin, topOrigin: topOrigin)
        var extensions = CBORMap()
        // In a sign-in, `prf` has no effect without salts.
        if let prf = options.extensions.prf, prf != PRFInput() { extensions.merge(prf.extensionInput) }
        if let largeBlob = options.extensions.largeBlob { extensions.merge(largeBlob.ctapInput.extensionInput) }
        ctapRequest = GetAssertionRequest(
            relyingPartyID: id,
            clientDataHash: clientData.hash,
            allowList: options.allowCredentials,
            extensions: extensions.isEmpty ? nil : extensions,
            // Phones always verify the user in hybrid ceremonies, and some reject a request without this option.
            userVerification: true
        )
        self.options = options
    }

    /// Returns the request for a phone with this description.
    ///
    /// Extensions that the phone does not list are omitted, because older phones reject unknown ones.
    public func ctapRequest(for phone: AuthenticatorInfo) throws(MissingAbility) -> GetAssertionRequest {
        guard options.userVerification != .required || phone.options["uv"] != false else { throw .userVerification }
        var request = ctapRequest
        request.allowList = phone.possible(request.allowList)
        // An empty list would allow any passkey.
        guard !request.allowList.isEmpty || ctapRequest.allowList.isEmpty else { throw .noPossiblePasskey }
        request.extensions = phone.known(request.extensions)
        return request
    }

    /// Checks the phone's response and returns an `AuthenticationResponseJSON`.
    ///
    /// - Parameters:
    ///   - response: Response of the phone.
    ///   - phone: Description of the phone, which determines the request; `nil` for the request with the whole list.
    public func responseJSON(
        from response: GetAssertionResponse,
        phone: AuthenticatorInfo? = nil
    ) throws(ResponseCheckError) -> [UInt8] {
        try response.authenticatorData.check(for: ctapRequest.relyingPartyID, options.userVerification)
        guard response.authenticatorData.attestedCredential == nil else { throw .unexpectedCredential }
        let id = try credentialID(response, phone)
        guard !response.signature.isEmpty else { throw .noSignature }
        guard SignatureFormat.isPossible(response.signature) else { throw .malformedSignature }
        if options.allowCredentials.isEmpty, response.user == nil { throw .noUserHandle }
        var members: [(String, JSONText)] = [
            ("clientDataJSON", .bytes(clientData.json)),
            ("authenticatorData", .bytes(response.authenticatorData.encoded)),
            ("signature", .bytes(response.signature)),
        ]
        if let user = response.user { members.append(("userHandle", .bytes(user.id.bytes))) }
        let results = options.extensions.results(response.unsignedExtensionOutputs, by: id)
        return JSONText.credential(id: id, response: members, extensionResults: results)
    }

    private func credentialID(
        _ response: GetAssertionResponse,
        _ phone: AuthenticatorInfo?
    ) throws(ResponseCheckError) -> CredentialID {
        let list = options.allowCredentials
        let allowed = (phone?.possible(list) ?? list).map(\.id)
        guard let credential = response.credential else {
            // CTAP allows an authenticator to omit the credential if there was no choice.
            guard allowed.count == 1, let only = allowed.first else { throw .noCredential }
            return only
        }
        guard allowed.isEmpty || allowed.contains(credential.id) else { throw .credentialNotAllowed }
        return credential.id
    }
}
