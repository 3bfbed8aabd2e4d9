// SPDX-License-Identifier: Apache-2.0

public import CTAP

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
    /// Whether a discoverable passkey is required or preferred.
    public var residentKey: Bool
    /// Whether the user must be verified.
    public var userVerification: UserVerificationRequirement
    /// Whether the website wants to see the phone's attestation.
    public var wantsAttestation: Bool
    /// Whether the website asked for the extension `credProps`.
    public var wantsCredentialProperties: Bool
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

        /// An unknown word counts as none.
        var asksForResidentKey: Bool {
            switch residentKey {
            case "required", "preferred": true
            case "discouraged": false
            default: requireResidentKey ?? false
            }
        }
    }

    private struct Extensions: Decodable {
        let credProps: Bool?
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
                because: "asks for a passkey on this device, which a phone can't give"
            )
        }
        residentKey = selection?.asksForResidentKey ?? false
        userVerification = UserVerificationRequirement(optional: selection?.userVerification)
        let conveyance = try container.decodeIfPresent(String.self, forKey: .attestation) ?? "none"
        wantsAttestation = ["indirect", "direct", "enterprise"].contains(conveyance)
        wantsCredentialProperties =
            try container.decodeIfPresent(Extensions.self, forKey: .extensions)?.credProps ?? false
        timeoutMilliseconds = try container.decodeIfPresent(IntegerField.self, forKey: .timeout)?.value
    }
}
