// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3 §5.1.8).
public struct RequestOptions: Equatable, Sendable {
    /// What the website wants signed; at least one byte.
    public var challenge: [UInt8]
    /// The relying party ID as claimed; `nil` means the origin's host.
    public var relyingPartyID: String?
    /// The only passkeys that may answer; empty if any of the website's may.
    public var allowCredentials: [CredentialDescriptor]
    /// Whether the user must be verified.
    public var userVerification: UserVerificationRequirement
    /// How long the website waits, in milliseconds.
    public var timeoutMilliseconds: Int?
    /// What else the website wants.
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

    /// Reads the members, and ignores those that are not known here.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        challenge = try container.decode(ChallengeField.self, forKey: .challenge).bytes
        relyingPartyID = try container.decodeIfPresent(String.self, forKey: .rpId)
        let descriptors = try container.decodeIfPresent([DescriptorField].self, forKey: .allowCredentials) ?? []
        allowCredentials = descriptors.compactMap(\.descriptor)
        // Dropping every entry would turn "one of these" into "any".
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
        // Whatever it hints at, the way is a phone.
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
