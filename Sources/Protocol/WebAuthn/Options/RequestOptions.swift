// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3 §5.1.8).
public struct RequestOptions: Equatable, Sendable {
    /// Challenge of the website; at least one byte.
    public var challenge: [UInt8]
    /// Relying party ID of the request; `nil` means the host of the origin.
    public var relyingPartyID: String?
    /// Acceptable passkeys; empty if any passkey of the website is acceptable.
    public var allowCredentials: [CredentialDescriptor]
    /// Requirement for user verification.
    public var userVerification: UserVerificationRequirement
    /// Timeout of the website in milliseconds; `nil` if absent.
    public var timeoutMilliseconds: Int?
    /// Extension inputs.
    public var extensions: RequestExtensions
}

extension RequestOptions: Decodable {
    private struct Members: Decodable {
        let challenge: ChallengeField
        let rpId: String?
        let allowCredentials: [DescriptorField]?
        let userVerification: String?
        let timeout: IntegerField?
        /// Hints have no effect: this client uses phones only.
        let hints: [String]?
        let extensions: RequestExtensionsField?
    }

    /// Creates options from their JSON; unknown members are ignored.
    public init(from decoder: any Decoder) throws {
        let members = try Members(from: decoder)
        challenge = members.challenge.bytes
        relyingPartyID = members.rpId
        let descriptors = members.allowCredentials ?? []
        allowCredentials = descriptors.compactMap(\.descriptor)
        // If all entries are ignored, the list must not become empty, because an empty list allows any passkey.
        guard descriptors.isEmpty || !allowCredentials.isEmpty else {
            let reason = "has no entry of type public-key"
            let field = decoder.codingPath.field("allowCredentials")
            throw OptionsError.invalid(field: field, because: reason, .notAllowedError)
        }
        userVerification = UserVerificationRequirement(optional: members.userVerification)
        timeoutMilliseconds = members.timeout?.value
        let path = decoder.codingPath.field("extensions")
        extensions = try RequestExtensions(members.extensions, allowed: allowCredentials.map(\.id), path: path)
    }
}
