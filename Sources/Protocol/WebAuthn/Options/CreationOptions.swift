// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// `PublicKeyCredentialCreationOptionsJSON` (WebAuthn Level 3 §5.1.8).
public struct CreationOptions: Equatable, Sendable {
    /// Challenge of the website; at least one byte.
    public var challenge: [UInt8]
    /// Relying party ID of the request; `nil` means the host of the origin.
    public var relyingPartyID: String?
    /// Name of the website.
    public var relyingPartyName: String
    /// The account.
    public var user: UserEntity
    /// Acceptable algorithms in order of preference; ES256 and RS256 if the website lists none.
    public var algorithms: [COSEAlgorithm]
    /// Passkeys that must not exist on the phone.
    public var excludeCredentials: [CredentialDescriptor]
    /// Requirement for a discoverable passkey.
    public var residentKey: ResidentKeyRequirement
    /// Requirement for user verification.
    public var userVerification: UserVerificationRequirement
    /// Preference for attestation.
    public var attestation: AttestationConveyance
    /// Preferred attestation formats in order of preference; empty if there is no preference.
    public var attestationFormats: [String]
    /// Extension inputs.
    public var extensions: CreationExtensions
    /// Timeout of the website in milliseconds; `nil` if absent.
    public var timeoutMilliseconds: Int?
}

extension CreationOptions: Decodable {
    private struct Members: Decodable {
        let challenge: ChallengeField
        let rp: RelyingParty
        let user: UserField
        let pubKeyCredParams: AlgorithmsField
        let excludeCredentials: [DescriptorField]?
        let authenticatorSelection: Selection?
        let attestation: String?
        let attestationFormats: [String]?
        /// Hints have no effect: this client uses phones only.
        let hints: [String]?
        let extensions: CreationExtensions?
        let timeout: IntegerField?
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

        /// The requirement for a discoverable passkey.
        ///
        /// An unknown value counts as absent. If `residentKey` is absent, the older member `requireResidentKey`
        /// applies.
        var residentKeyRequirement: ResidentKeyRequirement {
            residentKey.flatMap(ResidentKeyRequirement.init) ?? (requireResidentKey == true ? .required : .discouraged)
        }
    }

    /// Creates options from their JSON; unknown members are ignored.
    public init(from decoder: any Decoder) throws {
        let members = try Members(from: decoder)
        let selection = members.authenticatorSelection
        guard selection?.authenticatorAttachment != "platform" else {
            throw OptionsError.invalid(
                field: decoder.codingPath.field("authenticatorSelection.authenticatorAttachment"),
                because: "requires a passkey on this computer, which a phone cannot provide",
                .notAllowedError
            )
        }
        challenge = members.challenge.bytes
        relyingPartyID = members.rp.id
        relyingPartyName = members.rp.name
        user = members.user.entity
        algorithms = members.pubKeyCredParams.algorithms
        excludeCredentials = members.excludeCredentials?.compactMap(\.descriptor) ?? []
        residentKey = selection?.residentKeyRequirement ?? .discouraged
        userVerification = UserVerificationRequirement(optional: selection?.userVerification)
        attestation = AttestationConveyance(optional: members.attestation)
        attestationFormats = members.attestationFormats ?? []
        extensions = members.extensions ?? CreationExtensions()
        timeoutMilliseconds = members.timeout?.value
    }
}
