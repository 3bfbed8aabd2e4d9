// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// An `AuthenticationResponseJSON`, read but not verified (WebAuthn Level 3 §5.1, §7.2 steps 3 to 9).
public struct AuthenticationResponse: Hashable, Sendable {
    /// ID of the credential, with which its record is looked up.
    public let credentialID: CredentialID
    /// Client data, with the challenge that identifies the ceremony.
    public let clientData: CollectedClientData
    /// Signed authenticator data.
    public let authenticatorData: AuthenticatorData
    /// Signature over authenticator data and the hash of the client data.
    public let signature: [UInt8]
    /// Account according to the authenticator; `nil` if it was not sent.
    public let userHandle: UserHandle?

    /// Creates a response from the JSON that `PublicKeyCredential.toJSON()` returns.
    public init(json: [UInt8]) throws(ResponseRejection) {
        let procedure = ResponseRejection.Procedure.authentication
        let members = try ResponseMembers(json, in: procedure)
        credentialID = members.id
        clientData = try members.clientData()
        let data = try members.bytes("authenticatorData")
        do throws(AuthenticatorDataError) {
            authenticatorData = try AuthenticatorData(parsing: data)
        } catch {
            throw ResponseRejection(.malformedAuthenticatorData, in: procedure)
        }
        signature = try members.bytes("signature")
        if let bytes = try members.optionalBytes("userHandle") {
            guard let handle = UserHandle(bytes: bytes) else {
                throw ResponseRejection(.malformedResponse, in: procedure)
            }
            userHandle = handle
        } else {
            userHandle = nil
        }
    }
}
