// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// A `RegistrationResponseJSON`, read but not verified (WebAuthn Level 3 §5.1, §7.1 steps 3 to 6 and 13).
public struct RegistrationResponse: Hashable, Sendable {
    /// ID of the new credential according to the client.
    public let credentialID: CredentialID
    /// Client data, with the challenge that identifies the ceremony.
    public let clientData: CollectedClientData
    /// Attestation object with the new credential.
    public let attestationObject: AttestationObject
    /// Transports that the client reports; at most 16 names of at most 32 lower-case letters and hyphens.
    public let transports: [String]
    /// True if a client can offer the passkey without an allow list; `nil` if the client does not report it.
    public let isDiscoverable: Bool?

    /// Creates a response from the JSON that `PublicKeyCredential.toJSON()` returns.
    public init(json: [UInt8]) throws(ResponseRejection) {
        let procedure = ResponseRejection.Procedure.registration
        let members = try ResponseMembers(json, in: procedure)
        credentialID = members.id
        clientData = try members.clientData()
        let object = try members.bytes("attestationObject")
        do throws(CTAPResponseError) {
            attestationObject = try AttestationObject(parsing: object)
        } catch {
            throw ResponseRejection(.malformedAttestationObject, in: procedure)
        }
        transports = Array(members.transports.filter(Self.isPlain).prefix(16))
        isDiscoverable = members.isDiscoverable
    }

    private static func isPlain(_ name: String) -> Bool {
        (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-")
            }
    }
}
