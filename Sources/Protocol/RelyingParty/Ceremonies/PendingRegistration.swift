// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
internal import HybridPrimitives
public import HybridWebAuthn

/// A registration whose response has not arrived.
public struct PendingRegistration: PendingCeremony {
    /// Procedure that verifies the response.
    public static let procedure = ResponseRejection.Procedure.registration

    /// Challenge that the response must repeat.
    public let challenge: Challenge
    /// Account of the new passkey.
    public let user: UserEntity
    /// Algorithms that were requested.
    public let algorithms: [COSEAlgorithm]
    /// Requirement for user verification.
    public let userVerification: UserVerificationRequirement
    /// True if the client was asked with conditional mediation, without a question to the user.
    public let isConditional: Bool
    /// `PublicKeyCredentialCreationOptionsJSON` for `PublicKeyCredential.parseCreationOptionsFromJSON()`, in UTF-8.
    public let optionsJSON: [UInt8]
}

extension RelyingParty {
    /// Begins the registration of a passkey (WebAuthn Level 3 §7.1, step 1).
    ///
    /// - Parameters:
    ///   - user: Account of the new passkey; its handle must not contain personal data (§14.6.1).
    ///   - registered: Passkeys that the account already has, which are excluded.
    ///   - residentKey: Requirement for a passkey that can be offered without an allow list.
    ///   - isConditional: True for an automatic upgrade, where flag UP is not required (§5.1.3). User verification is
    ///     then preferred at most.
    public func beginRegistration(
        of user: UserEntity,
        registered: [CredentialRecord] = [],
        residentKey: ResidentKeyRequirement = .required,
        isConditional: Bool = false
    ) -> PendingRegistration {
        let challenge = Challenge.random()
        let verification = isConditional && userVerification == .required ? .preferred : userVerification
        let algorithms = requestedAlgorithms
        let options = JSONText.object([
            ("rp", .object([("id", .string(id.text)), ("name", .string(name))])),
            (
                "user",
                .object([
                    ("id", .bytes(user.id.bytes)), ("name", .string(user.name)),
                    ("displayName", .string(user.displayName)),
                ])
            ),
            ("challenge", .bytes(challenge.bytes)),
            ("pubKeyCredParams", .array(algorithms.map(\.parametersJSON))),
            ("timeout", .number(timeout.milliseconds)),
            ("excludeCredentials", .array(registered.map(\.descriptorJSON))),
            (
                "authenticatorSelection",
                .object([
                    ("residentKey", .string(residentKey.rawValue)),
                    // For clients of Level 1 (§5.4.4).
                    ("requireResidentKey", .boolean(residentKey == .required)),
                    ("userVerification", .string(verification.rawValue)),
                ])
            ),
            ("attestation", .string(attestation.conveyance.rawValue)),
            ("extensions", .object([("credProps", .boolean(true))])),
        ])
        return PendingRegistration(
            challenge: challenge,
            user: user,
            algorithms: algorithms,
            userVerification: verification,
            isConditional: isConditional,
            optionsJSON: Array(options.serialized(.terminalSafe).utf8)
        )
    }
}

extension COSEAlgorithm {
    fileprivate var parametersJSON: JSONText {
        .object([("type", .string(CredentialDescriptor.publicKeyType)), ("alg", .number(rawValue))])
    }
}

extension CredentialRecord {
    /// The `PublicKeyCredentialDescriptorJSON`.
    var descriptorJSON: JSONText {
        let hints = transports.isEmpty ? [] : [("transports", JSONText.array(transports.map { .string($0) }))]
        return .object([("type", .string(CredentialDescriptor.publicKeyType)), ("id", .bytes(id.bytes))] + hints)
    }
}

extension Duration {
    /// The number of whole milliseconds.
    var milliseconds: Int { Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}
