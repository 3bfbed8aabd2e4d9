// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
internal import HybridPrimitives

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

extension CreationOptions {
    /// Reads the options; unknown members are ignored.
    init(_ json: JSONCursor) throws {
        challenge = try json.challenge
        let relyingParty = try json.member("rp")
        relyingPartyID = try relyingParty.memberIfPresent("id")?.text
        relyingPartyName = try relyingParty.member("name").text
        user = try UserEntity(json.member("user"))
        algorithms = try json.member("pubKeyCredParams").algorithms
        excludeCredentials = try json.memberIfPresent("excludeCredentials")?.descriptors ?? []
        let selection = try json.memberIfPresent("authenticatorSelection")
        let attachment = try selection?.memberIfPresent("authenticatorAttachment")
        let isPlatform = try attachment?.text == "platform"
        residentKey = try selection.map(ResidentKeyRequirement.init(selection:)) ?? .discouraged
        userVerification = UserVerificationRequirement(
            optional: try selection?.memberIfPresent("userVerification")?.text
        )
        attestation = AttestationConveyance(optional: try json.memberIfPresent("attestation")?.text)
        attestationFormats = try json.memberIfPresent("attestationFormats")?.texts ?? []
        try json.checkHints()
        extensions = try json.memberIfPresent("extensions").map(CreationExtensions.init) ?? CreationExtensions()
        timeoutMilliseconds = try json.memberIfPresent("timeout")?.integer()
        if let attachment, isPlatform {
            throw OptionsError.invalid(
                field: attachment.path,
                because: "requires a passkey on this computer, which a phone cannot provide",
                .notAllowedError
            )
        }
    }
}

extension ResidentKeyRequirement {
    /// Reads the requirement from `authenticatorSelection`.
    ///
    /// An unknown value counts as absent. If `residentKey` is absent, the older member `requireResidentKey` applies.
    fileprivate init(selection: JSONCursor) throws {
        let text = try selection.memberIfPresent("residentKey")?.text
        let isRequired = try selection.memberIfPresent("requireResidentKey")?.boolean ?? false
        self = text.flatMap(Self.init(rawValue:)) ?? (isRequired ? .required : .discouraged)
    }
}
