// SPDX-License-Identifier: Apache-2.0

/// A reason why a response is not accepted, with the step of WebAuthn Level 3 that decides it.
public struct ResponseRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The two procedures of a relying party.
    public enum Procedure: Hashable, Sendable {
        /// *Registering a New Credential*, §7.1.
        case registration
        /// *Verifying an Authentication Assertion*, §7.2.
        case authentication
    }

    /// A single cause; each rejection has exactly one, the first in the order of the steps.
    public struct Cause: Error, Hashable, Sendable {
        /// The identifier for programs: lower-case words joined by hyphens; stable across versions.
        public let code: String
        /// The cause in one sentence, without a final period.
        public let sentence: String
        fileprivate let registration: String
        fileprivate let authentication: String

        fileprivate init(_ code: String, _ sentence: String, _ registration: String, _ authentication: String) {
            self.code = code
            self.sentence = sentence
            self.registration = registration
            self.authentication = authentication
        }
    }

    /// The cause.
    public let cause: Cause
    /// The procedure that found it.
    public let procedure: Procedure

    init(_ cause: Cause, in procedure: Procedure) {
        self.cause = cause
        self.procedure = procedure
    }

    /// The paragraph of WebAuthn Level 3 that requires the rejection, such as `§7.2 step 11`.
    public var paragraph: String {
        switch procedure {
        case .registration: cause.registration
        case .authentication: cause.authentication
        }
    }

    /// The cause and the paragraph.
    public var description: String { "\(cause.sentence) (\(paragraph))" }
}

extension ResponseRejection.Cause {
    private static func both(_ code: String, _ sentence: String, _ paragraph: String) -> Self {
        Self(code, sentence, paragraph, paragraph)
    }

    private static func steps(_ code: String, _ sentence: String, _ registration: Int, _ authentication: Int) -> Self {
        Self(code, sentence, "§7.1 step \(registration)", "§7.2 step \(authentication)")
    }

    private static func registration(_ code: String, _ sentence: String, _ step: Int) -> Self {
        both(code, sentence, "§7.1 step \(step)")
    }

    private static func authentication(_ code: String, _ sentence: String, _ step: Int) -> Self {
        both(code, sentence, "§7.2 step \(step)")
    }

    // MARK: Form

    /// The response is longer than the limit, or no JSON object with the required members.
    public static let malformedResponse = both("malformed-response", "the response is not the JSON of WebAuthn", "§5.1")
    /// `id` and `rawId` are not the same base64url text of 1 to 1,023 bytes.
    public static let malformedCredentialID = both(
        "malformed-credential-id",
        "the credential ID is not 1 to 1,023 bytes in base64url, the same in id and rawId",
        "§5.1"
    )
    /// The type of the credential is not `public-key`.
    public static let otherCredentialType = both(
        "other-credential-type",
        "the type of the credential is not public-key",
        "§5.1"
    )
    /// The client data is not UTF-8 JSON with the required members.
    public static let malformedClientData = steps(
        "malformed-client-data",
        "the client data is not JSON with type, challenge and origin",
        6,
        9
    )
    /// The attestation object is not CBOR with the required members, or has malformed authenticator data.
    public static let malformedAttestationObject = registration(
        "malformed-attestation-object",
        "the attestation object cannot be read",
        13
    )
    /// The authenticator data is malformed.
    public static let malformedAuthenticatorData = both(
        "malformed-authenticator-data",
        "the authenticator data cannot be read",
        "§6.1"
    )

    // MARK: Client data

    /// The type of the client data belongs to the other ceremony.
    public static let otherType = steps("other-type", "the client data is for the other ceremony", 7, 10)
    /// The challenge is not the one of this ceremony.
    public static let otherChallenge = steps("other-challenge", "the challenge is not the one of this ceremony", 8, 11)
    /// The challenge was not issued to this session, or was used before.
    public static let unknownChallenge = steps(
        "unknown-challenge",
        "the challenge was not issued to this session, or was used before",
        8,
        11
    )
    /// The challenge is too old.
    public static let expiredChallenge = steps("expired-challenge", "the challenge has expired", 8, 11)
    /// The page's origin is not one of the website's.
    public static let otherOrigin = steps("other-origin", "the origin of the page is not one of this website", 9, 12)
    /// The page was a frame in a page of another origin, which the website does not accept.
    public static let crossOrigin = steps("cross-origin", "the page was a frame of another site's page", 10, 13)
    /// The top-level page is not one that may show the website in a frame.
    public static let otherTopOrigin = steps("other-top-origin", "the top-level page is not an accepted one", 11, 14)

    // MARK: Authenticator data

    /// The authenticator data is for another relying party ID.
    public static let otherRelyingParty = steps("other-relying-party", "the response is for a different RP ID", 14, 15)
    /// Flag UP is not set.
    public static let userNotPresent = steps("user-not-present", "the user was not present", 15, 16)
    /// Flag UV is not set, although the website requires it.
    public static let userNotVerified = steps("user-not-verified", "the user was not verified", 16, 17)
    /// Flag BS is set although BE is not.
    public static let contradictoryBackupFlags = steps(
        "contradictory-backup-flags",
        "the passkey is backed up without being eligible",
        17,
        18
    )

    // MARK: Registration

    /// The authenticator data contains no credential.
    public static let noCredential = registration("no-credential", "the response contains no new passkey", 13)
    /// The credential in the authenticator data is not the one that the client names.
    public static let otherCredential = both(
        "other-credential",
        "the credential ID of the client is not the one in the authenticator data",
        "§5.1, [[identifier]]"
    )
    /// The key has an algorithm that was not requested.
    public static let algorithmNotRequested = registration(
        "algorithm-not-requested",
        "the key has an algorithm that was not requested",
        20
    )
    /// The key lacks a parameter of its algorithm, or is no point on the curve.
    public static let malformedKey = both("malformed-key", "the public key is malformed", "§5.8.5, §6.5.1.1")
    /// The attestation format is neither `none` nor `packed`.
    public static let unsupportedFormat = registration(
        "unsupported-format",
        "the attestation format is not supported",
        22
    )
    /// The attestation statement does not have the members of its format.
    public static let malformedStatement = both(
        "malformed-statement",
        "the attestation statement does not have the members of its format",
        "§7.1 step 23, §8.2 and §8.7"
    )
    /// The algorithm of a self attestation is not the key's.
    public static let otherAttestationAlgorithm = both(
        "other-attestation-algorithm",
        "the algorithm of the attestation is not the key's",
        "§8.2, verification procedure for self attestation"
    )
    /// The signature of the attestation is wrong.
    public static let wrongAttestationSignature = both(
        "wrong-attestation-signature",
        "the signature of the attestation is wrong",
        "§8.2, verification procedure"
    )
    /// The attestation certificate violates the requirements for its members.
    public static let unsuitableCertificate = both(
        "unsuitable-certificate",
        "the attestation certificate does not have the required members",
        "§8.2.1"
    )
    /// The attestation certificate is for another model.
    public static let otherModel = both(
        "other-model",
        "the attestation certificate is for a different model",
        "§8.2, verification procedure, and §8.2.1"
    )
    /// The website requires an attestation with a chain to one of its certificates.
    public static let untrustedAttestation = registration(
        "untrusted-attestation",
        "the attestation is not by a trusted manufacturer",
        25
    )
    /// The credential is registered already.
    public static let alreadyRegistered = registration("already-registered", "the passkey is already registered", 27)

    // MARK: Sign-in

    /// The credential is not in the allow list.
    public static let credentialNotAllowed = authentication(
        "credential-not-allowed",
        "the passkey is not one of the requested ones",
        5
    )
    /// No account has the credential.
    public static let unknownCredential = authentication("unknown-credential", "the passkey is not registered", 6)
    /// The response states no account, and the website did not know it before.
    public static let noUserHandle = authentication("no-user-handle", "the response states no account", 6)
    /// The credential belongs to another account.
    public static let otherAccount = authentication("other-account", "the passkey belongs to a different account", 6)
    /// The backup eligibility is not that of the registration.
    public static let changedBackupEligibility = authentication(
        "changed-backup-eligibility",
        "the backup eligibility is not that of the registration",
        19
    )
    /// The signature is wrong.
    public static let wrongSignature = authentication("wrong-signature", "the signature is wrong", 21)
    /// The signature counter did not increase, so the authenticator may be cloned.
    public static let counterNotIncreased = authentication(
        "counter-not-increased",
        "the signature counter did not increase",
        22
    )
}
