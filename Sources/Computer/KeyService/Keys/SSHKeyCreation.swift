// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
internal import HybridPrimitives
package import HybridSSHAgent

/// The creation of an SSH key: a request for a new passkey, and the key in the phone's answer.
package struct SSHKeyCreation: Sendable {
    /// The request.
    package let request: MakeCredentialRequest
    /// The name of the key.
    private let comment: SSHKeyComment
    private let allowsForwardedMessages: Bool
    private let destinations: [PermittedDestination]?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - relyingPartyID: The relying party ID of the passkey, which becomes the application of the key.
    ///   - comment: The name of the key, which the phone shows as the name of the account.
    ///   - allowsForwardedMessages: True if messages may be signed through a forwarded agent.
    ///   - destinations: The permitted logins; `nil` to permit all.
    ///   - generator: The source of the user ID and the client data hash.
    /// - Returns: `nil` if a generated value is not accepted, which does not happen.
    package init?(
        relyingPartyID: RelyingPartyID,
        comment: SSHKeyComment,
        allowsForwardedMessages: Bool,
        destinations: [PermittedDestination]? = nil,
        using generator: inout some RandomNumberGenerator
    ) {
        // A user ID of its own for each key, because a phone replaces a passkey with the same user ID.
        let random = [UInt8].random(64, using: &generator)
        guard let handle = UserHandle(bytes: random[..<32]), let hash = ClientDataHash(bytes: random[32...]) else {
            return nil
        }
        request = MakeCredentialRequest(
            clientDataHash: hash,
            // Phones require both names.
            relyingParty: RelyingPartyEntity(id: relyingPartyID, name: relyingPartyID.text),
            user: UserEntity(id: handle, name: comment.description, displayName: "SSH key \(comment)"),
            algorithms: [.es256],
            // A phone that knows the extension signs nothing but SSH data with the passkey.
            extensions: SignedDataKind.ssh.extensionInput,
            residentKey: true,
            userVerification: true
        )
        self.comment = comment
        self.allowsForwardedMessages = allowsForwardedMessages
        self.destinations = destinations
    }

    /// The purpose on one line.
    package var purpose: String { "create the ssh key \(SafeText(quoting: comment.description))" }

    /// The event `request` for a prompt, on one line without a line end.
    ///
    /// - Parameter timeout: The time limit of each state in which the user must act.
    package func event(timeout: Duration) -> String {
        JSONText.object([
            ("event", .string("request")), ("operation", .string("create")),
            ("rp_id", .string(request.relyingParty.id.text)),
            ("timeout_ms", .number(Int(timeout / .milliseconds(1)))),
        ]).description
    }

    /// Returns the key in a phone's answer.
    ///
    /// - Parameter bytes: The CTAP response with its status byte.
    /// - Throws: ``KeyCreationError``
    package func key(in bytes: [UInt8]) throws(KeyCreationError) -> StoredSSHKey {
        guard let response = try? CTAPResponse(parsing: bytes), response.status == .success,
            let data = (try? MakeCredentialResponse(parsing: response.body))?.authenticatorData,
            data.relyingPartyIDHash == request.relyingParty.id.hash, data.flags.contains(.userPresent),
            let credential = data.attestedCredential, let point = credential.publicKey.x963Representation,
            let application = SSHApplication(request.relyingParty.id.text),
            let publicKey = try? SSHPublicKey(x963Representation: point, application: application),
            let key = StoredSSHKey(
                publicKey,
                credentialID: credential.id,
                comment: comment,
                allowsForwardedMessages: allowsForwardedMessages,
                destinations: destinations
            )
        else { throw .notAKey }
        // The request requires it. A phone that ignores this would sign for any holder of it.
        guard data.flags.contains(.userVerified) else { throw .userNotVerified }
        return key
    }
}

extension RelyingPartyID {
    /// Returns an ID that no website can have: a random name below `.invalid` (RFC 6761).
    ///
    /// - Parameters:
    ///   - prefix: The beginning of the name.
    ///   - generator: The source of the other 16 characters.
    package static func random(prefix: String, using generator: inout some RandomNumberGenerator) -> RelyingPartyID? {
        let digits = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        let label = (0..<16).map { _ in digits[Int.random(in: 0..<digits.count, using: &generator)] }
        return RelyingPartyID("\(prefix)\(String(decoding: label, as: UTF8.self)).invalid")
    }
}

/// A reason why a phone's answer is not a key.
package enum KeyCreationError: Error, Hashable, Sendable {
    /// The answer is not a new passkey with an ES256 key for this request.
    case notAKey
    /// The phone has created a passkey without verifying its user, for example because it has no screen lock.
    case userNotVerified

    /// The cause and the remedy, for users.
    package var sentence: String {
        switch self {
        case .notAKey: "the phone's response has no new key; try a different phone"
        case .userNotVerified:
            "the phone did not verify its user, so the key is not stored; set a screen lock on the phone, delete the new "
                + "passkey there, and try again"
        }
    }
}
