// SPDX-License-Identifier: Apache-2.0

private import HybridCBOR
public import HybridCTAP

/// One sign-in (WebAuthn Level 3 §5.1.4).
public struct RequestCeremony: Equatable, Sendable {
    /// What to ask a phone that can do all that is asked for.
    public let ctapRequest: GetAssertionRequest
    /// What the website wants signed.
    public let clientData: ClientData
    let options: RequestOptions

    /// Joins options with the origin they came from.
    ///
    /// - Parameter topOrigin: The window's own page, if it is of another origin.
    public init(
        _ options: RequestOptions,
        origin: Origin,
        topOrigin: Origin? = nil
    ) throws(RelyingPartyIDError) {
        let id = try origin.relyingPartyID(claimed: options.relyingPartyID)
        clientData = ClientData(.get, challenge: options.challenge, origin: origin, topOrigin: topOrigin)
        var extensions = CBORMap()
        // Without salts there is nothing to ask in a sign-in.
        if let prf = options.extensions.prf, prf != PRFInput() { extensions.merge(prf.extensionInput) }
        if let largeBlob = options.extensions.largeBlob { extensions.merge(largeBlob.ctapInput.extensionInput) }
        ctapRequest = GetAssertionRequest(
            relyingPartyID: id,
            clientDataHash: clientData.hash,
            allowList: options.allowCredentials,
            extensions: extensions.isEmpty ? nil : extensions,
            // Phones always verify over hybrid, and some refuse a request that does not say so.
            userVerification: true
        )
        self.options = options
    }

    /// What to ask a phone that has introduced itself: older ones refuse what they do not know.
    public func ctapRequest(for phone: AuthenticatorInfo) throws(MissingAbility) -> GetAssertionRequest {
        guard options.userVerification != .required || phone.options["uv"] != false else { throw .userVerification }
        var request = ctapRequest
        request.extensions = phone.known(request.extensions)
        return request
    }

    /// Checks the phone's answer and writes `AuthenticationResponseJSON`.
    public func responseJSON(from response: GetAssertionResponse) throws(ResponseCheckError) -> [UInt8] {
        try ResponseCheck(relyingPartyID: ctapRequest.relyingPartyID, userVerification: options.userVerification)
            .check(response.authenticatorData)
        guard response.authenticatorData.attestedCredential == nil else { throw .unexpectedCredential }
        let id = try credentialID(response)
        guard !response.signature.isEmpty else { throw .noSignature }
        guard SignatureShape.isPossible(response.signature) else { throw .malformedSignature }
        if options.allowCredentials.isEmpty, response.user == nil { throw .noUserHandle }
        var members: [(String, JSONText)] = [
            ("clientDataJSON", .bytes(clientData.json)),
            ("authenticatorData", .bytes(response.authenticatorData.encoded)),
            ("signature", .bytes(response.signature)),
        ]
        if let user = response.user { members.append(("userHandle", .bytes(user.id.bytes))) }
        let results = options.extensions.results(response.unsignedExtensionOutputs, by: id)
        return CredentialJSON.encode(id: id, response: members, extensionResults: results)
    }

    private func credentialID(_ response: GetAssertionResponse) throws(ResponseCheckError) -> CredentialID {
        let allowed = options.allowCredentials.map(\.id)
        guard let credential = response.credential else {
            // CTAP lets an authenticator leave it out when there was no choice.
            guard allowed.count == 1, let only = allowed.first else { throw .noCredential }
            return only
        }
        guard allowed.isEmpty || allowed.contains(credential.id) else { throw .credentialNotAllowed }
        return credential.id
    }
}
