// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
public import HybridPrimitives

extension AuthenticatorData {
    /// Checks the relying party and the flags, which apply to both ceremonies.
    func check(
        for relyingPartyID: RelyingPartyID,
        _ userVerification: UserVerificationRequirement
    ) throws(ResponseCheckError) {
        guard relyingPartyIDHash == relyingPartyID.hash else { throw .otherRelyingParty }
        guard flags.contains(.userPresent) else { throw .userNotPresent }
        guard userVerification != .required || flags.contains(.userVerified) else { throw .userNotVerified }
        guard flags.contains(.backupEligible) || !flags.contains(.backedUp) else { throw .contradictoryBackupFlags }
    }
}

/// A reason why a phone's response is not forwarded to the website.
public struct ResponseCheckError: WebAuthnFailure, Hashable {
    /// The response is for another relying party.
    public static let otherRelyingParty = Self("the phone's response is for a different website")
    /// Flag UP is not set.
    public static let userNotPresent = Self("the phone responded without asking its user", .notAllowedError)
    /// Flag UV is not set, and the website requires it.
    public static let userNotVerified = Self(
        "the website requires user verification, and the phone did not verify its user",
        .notAllowedError
    )
    /// Flag BS is set although BE is not.
    public static let contradictoryBackupFlags = Self("the phone's response has contradictory backup flags")
    /// The response to a registration does not contain a new credential.
    public static let noNewCredential = Self("the phone's response does not contain a new passkey")
    /// The response to a sign-in contains a new credential.
    public static let unexpectedCredential = Self("the phone created a passkey instead of signing in")
    /// The response does not state the credential, although the request allowed more than one.
    public static let noCredential = Self("the phone's response does not state the passkey")
    /// The credential is not in the list of allowed credentials.
    public static let credentialNotAllowed = Self("the phone used a passkey that the website does not allow")
    /// The phone's user selected the account, but the response does not state it.
    public static let noUserHandle = Self("the phone's response does not state the account")
    /// The signature is empty.
    public static let noSignature = Self("the phone's response has no signature")
    /// The signature does not have the format of any known algorithm.
    public static let malformedSignature = Self("the phone's response has a malformed signature")

    /// The cause.
    public let sentence: String
    /// Name of the exception that a browser would throw.
    public let name: WebAuthnErrorName
    /// The parse error; `nil` unless the response is malformed.
    public let parseError: CTAPResponseError?
    /// The code `answer-unusable`.
    public var code: String { "answer-unusable" }
    /// The exit status for malformed data.
    public var status: ExitStatus { .dataError }

    private init(
        _ sentence: String,
        _ name: WebAuthnErrorName = .notReadableError,
        parseError: CTAPResponseError? = nil
    ) {
        self.sentence = sentence
        self.name = name
        self.parseError = parseError
    }

    /// The response is malformed.
    public static func malformed(_ error: CTAPResponseError) -> ResponseCheckError {
        Self("the phone's answer can't be read", parseError: error)
    }
    /// The new key has an algorithm that was not requested.
    public static func algorithmNotRequested(_ algorithm: COSEAlgorithm) -> ResponseCheckError {
        Self("the phone created a key of a type that was not requested (COSE algorithm \(algorithm.rawValue))")
    }
    /// The new key lacks a parameter that its algorithm requires.
    public static func malformedKey(_ algorithm: COSEAlgorithm) -> ResponseCheckError {
        Self("the phone created a malformed key (COSE algorithm \(algorithm.rawValue))")
    }
}
