// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3 §5.1.8).
public struct RequestOptions: Equatable, Sendable {
    /// Challenge of the website; at least one byte.
    public var challenge: [UInt8]
    /// Relying party ID of the request; `nil` stands for the origin's host.
    public var relyingPartyID: String?
    /// Acceptable passkeys; empty if any passkey of the website is acceptable.
    public var allowCredentials: [CredentialDescriptor]
    /// Requirement for user verification.
    public var userVerification: UserVerificationRequirement
    /// Timeout of the website in milliseconds.
    public var timeoutMilliseconds: Int?
    /// Extension inputs.
    public var extensions = RequestExtensions()
}

extension RequestOptions: Decodable {
    private enum CodingKeys: String, CodingKey {
        case challenge
        case timeout
        case rpId
        case allowCredentials
        case userVerification
        case hints
        case extensions
    }

    /// Reads the members; unknown ones are ignored.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        challenge = try container.decode(ChallengeField.self, forKey: .challenge).bytes
        relyingPartyID = try container.decodeIfPresent(String.self, forKey: .rpId)
        let descriptors = try container.decodeIfPresent([DescriptorField].self, forKey: .allowCredentials) ?? []
        allowCredentials = descriptors.compactMap(\.descriptor)
        // An empty list would mean any passkey.
        guard descriptors.isEmpty || !allowCredentials.isEmpty else {
            throw OptionsError.invalid(
                field: (decoder.codingPath + [CodingKeys.allowCredentials]).field,
                because: "has no entry of type public-key",
                .notAllowedError
            )
        }
        userVerification = UserVerificationRequirement(
            optional: try container.decodeIfPresent(String.self, forKey: .userVerification)
        )
        timeoutMilliseconds = try container.decodeIfPresent(IntegerField.self, forKey: .timeout)?.value
        // Hints have no effect: this client uses phones only.
        _ = try container.decodeIfPresent([String].self, forKey: .hints)
        if let field = try container.decodeIfPresent(RequestExtensionsField.self, forKey: .extensions) {
            extensions = try RequestExtensions(
                field,
                allowed: allowCredentials.map(\.id),
                path: decoder.codingPath + [CodingKeys.extensions]
            )
        }
    }
}
