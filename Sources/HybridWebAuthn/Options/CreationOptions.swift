// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// `PublicKeyCredentialCreationOptionsJSON` (WebAuthn Level 3 §5.1.8).
public struct CreationOptions: Equatable, Sendable {
    /// What the website wants signed; at least one byte.
    public var challenge: [UInt8]
    /// The relying party ID as claimed; `nil` means the origin's host.
    public var relyingPartyID: String?
    /// The website's own name.
    public var relyingPartyName: String
    /// The account.
    public var user: UserEntity
    /// Acceptable algorithms, the best first; ES256 and RS256 if the website named none.
    public var algorithms: [COSEAlgorithm]
    /// Passkeys that must not be on the phone already.
    public var excludeCredentials: [CredentialDescriptor]
    /// Whether a discoverable passkey is wanted.
    public var residentKey: ResidentKeyRequirement
    /// Whether the user must be verified.
    public var userVerification: UserVerificationRequirement
    /// Whether the website wants to see the phone's attestation.
    public var attestation: AttestationConveyance
    /// The attestation formats the website would like, the best first; empty if it has no wish.
    public var attestationFormats: [String]
    /// What else the website wants.
    public var extensions: CreationExtensions
    /// How long the website waits, in milliseconds.
    public var timeoutMilliseconds: Int?
}

extension CreationOptions: Decodable {
    private enum CodingKeys: String, CodingKey {
        case rp
        case user
        case challenge
        case pubKeyCredParams
        case timeout
        case excludeCredentials
        case authenticatorSelection
        case attestation
        case attestationFormats
        case hints
        case extensions
    }

    private struct RelyingParty: Decodable {
        let id: String?
        let name: String
    }

    private struct Selection: Decodable {
        let authenticatorAttachment: String?
        let residentKey: String?
        let requireResidentKey: Bool?
        let userVerification: String?

        /// An unknown word counts as none; then the older member decides.
        var residentKeyRequirement: ResidentKeyRequirement {
            residentKey.flatMap(ResidentKeyRequirement.init) ?? (requireResidentKey == true ? .required : .discouraged)
        }
    }

    /// Reads the members, and ignores those that are not known here.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        challenge = try container.decode(ChallengeField.self, forKey: .challenge).bytes
        let relyingParty = try container.decode(RelyingParty.self, forKey: .rp)
        relyingPartyID = relyingParty.id
        relyingPartyName = relyingParty.name
        user = try container.decode(UserField.self, forKey: .user).entity
        algorithms = try container.decode(AlgorithmsField.self, forKey: .pubKeyCredParams).algorithms
        excludeCredentials =
            try container.decodeIfPresent([DescriptorField].self, forKey: .excludeCredentials)?
            .compactMap(\.descriptor) ?? []
        let selection = try container.decodeIfPresent(Selection.self, forKey: .authenticatorSelection)
        guard selection?.authenticatorAttachment != "platform" else {
            throw OptionsError.invalid(
                field: (decoder.codingPath + [CodingKeys.authenticatorSelection]).field + ".authenticatorAttachment",
                because: "asks for a passkey on this device, which a phone can't give",
                .notAllowedError
            )
        }
        residentKey = selection?.residentKeyRequirement ?? .discouraged
        userVerification = UserVerificationRequirement(optional: selection?.userVerification)
        attestation = AttestationConveyance(
            optional: try container.decodeIfPresent(String.self, forKey: .attestation)
        )
        attestationFormats = try container.decodeIfPresent([String].self, forKey: .attestationFormats) ?? []
        // Whatever it hints at, the way is a phone.
        _ = try container.decodeIfPresent([String].self, forKey: .hints)
        extensions =
            try container.decodeIfPresent(CreationExtensions.self, forKey: .extensions) ?? CreationExtensions()
        timeoutMilliseconds = try container.decodeIfPresent(IntegerField.self, forKey: .timeout)?.value
    }
}
