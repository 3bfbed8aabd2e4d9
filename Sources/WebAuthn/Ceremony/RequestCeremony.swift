// SPDX-License-Identifier: Apache-2.0

public import CTAP

/// One sign-in (WebAuthn Level 3 §5.1.4).
public struct RequestCeremony: Equatable, Sendable {
    /// What to ask the phone.
    public let ctapRequest: GetAssertionRequest
    /// What the website wants signed.
    public let clientData: ClientData
    private let options: RequestOptions

    /// Joins options with the origin they came from.
    public init(_ options: RequestOptions, origin: Origin) throws(RelyingPartyIDError) {
        let id = try origin.relyingPartyID(claimed: options.relyingPartyID)
        clientData = ClientData(.get, challenge: options.challenge, origin: origin)
        ctapRequest = GetAssertionRequest(
            relyingPartyID: id,
            clientDataHash: clientData.hash,
            allowList: options.allowCredentials,
            // Phones always verify over hybrid, and some refuse a request that does not say so.
            userVerification: true
        )
        self.options = options
    }

    /// Checks the phone's answer and writes `AuthenticationResponseJSON`.
    public func responseJSON(from response: GetAssertionResponse) throws(ResponseCheckError) -> [UInt8] {
        try ResponseCheck(relyingPartyID: ctapRequest.relyingPartyID, userVerification: options.userVerification)
            .check(response.authenticatorData)
        let id = try credentialID(response)
        guard !response.signature.isEmpty else { throw .noSignature }
        if options.allowCredentials.isEmpty, response.user == nil { throw .noUserHandle }
        var members: [(String, JSONText)] = [
            ("clientDataJSON", .bytes(clientData.json)),
            ("authenticatorData", .bytes(response.authenticatorData.encoded)),
            ("signature", .bytes(response.signature)),
        ]
        if let user = response.user { members.append(("userHandle", .bytes(user.id.bytes))) }
        return CredentialJSON.encode(id: id, response: members, extensionResults: [])
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
