// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
internal import HybridPrimitives

/// The enrolment of a phone for pam_u2f: a request for a new passkey, and the line of the mapping file.
package struct PAMEnrolment: Sendable {
    /// The request.
    package let request: MakeCredentialRequest
    private let user: String

    /// Creates an enrolment.
    ///
    /// - Parameters:
    ///   - user: The name of the account: 1 to 64 letters, digits and characters of `._-@$+`.
    ///   - host: The name of the computer.
    ///   - service: The PAM service, such as `sudo`. Each service has an origin of its own, because pam_u2f does not report
    ///     which one asks.
    ///   - generator: The source of the user ID and the client data hash.
    /// - Returns: `nil` if one of the names has another form.
    package init?(user: String, host: String, service: String, using generator: inout some RandomNumberGenerator) {
        func random() -> [UInt8] { .random(32, using: &generator) }
        guard Self.isAccountName(user), let id = RelyingPartyID("pam://\(host)/\(service)", accepting: [.pam]),
            let handle = UserHandle(bytes: random()), let hash = ClientDataHash(bytes: random())
        else { return nil }
        self.user = user
        request = MakeCredentialRequest(
            clientDataHash: hash,
            // Phones require both names.
            relyingParty: RelyingPartyEntity(id: id, name: id.text),
            user: UserEntity(id: handle, name: user, displayName: "\(user) on \(host)"),
            algorithms: [.es256],
            residentKey: true,
            userVerification: true
        )
    }

    /// Returns true for a name that cannot be confused with a separator of the mapping file.
    private static func isAccountName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                let character = Character(Unicode.Scalar(byte))
                return character.isASCII && (character.isLetter || character.isNumber) || "._-@$+".utf8.contains(byte)
            }
    }

    /// The value of pam_u2f's option `origin`.
    package var origin: String { request.relyingParty.id.text }

    /// The purpose on one line.
    package var purpose: String { description.text }

    /// The event `request` for a prompt, on one line without a line end.
    ///
    /// - Parameter timeout: The time limit of each state in which the user must act.
    package func event(timeout: Duration) -> String { description.event(timeout: timeout) }

    private var description: SecurityKeyRequestDescription {
        SecurityKeyRequestDescription(request.relyingParty.id, isRegistration: true)
    }

    /// Returns the new credential, its line in the mapping file of pam_u2f without a line end, and the key's fingerprint.
    ///
    /// The line requires that the phone verifies its user (pamu2fcfg(1), `+presence+verification`).
    ///
    /// - Parameter bytes: The CTAP response with its status byte.
    /// - Returns: `nil` if the answer is not a new passkey with an ES256 key for this request.
    package func enrolment(in bytes: [UInt8]) -> (credential: CredentialID, line: String, fingerprint: String)? {
        guard let response = try? CTAPResponse(parsing: bytes), response.status == .success,
            let data = (try? MakeCredentialResponse(parsing: response.body))?.authenticatorData,
            data.relyingPartyIDHash == request.relyingParty.id.hash,
            data.flags.isSuperset(of: [.userPresent, .userVerified]),
            let credential = data.attestedCredential, let point = credential.publicKey.x963Representation
        else { return nil }
        func base64(_ bytes: some Collection<UInt8>) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
        // The point without the byte that states its form: x ‖ y, 64 bytes.
        let fields = [base64(credential.id.bytes), base64(point.dropFirst()), "es256", "+presence+verification"]
        return (credential.id, "\(user):\(fields.joined(separator: ","))", credential.publicKey.fingerprint)
    }
}
