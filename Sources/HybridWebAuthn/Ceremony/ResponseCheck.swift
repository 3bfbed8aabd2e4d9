// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// What every answer must say about itself, whatever was asked.
struct ResponseCheck {
    let relyingPartyID: RelyingPartyID
    let userVerification: UserVerificationRequirement

    func check(_ data: AuthenticatorData) throws(ResponseCheckError) {
        guard data.relyingPartyIDHash == relyingPartyID.hash else { throw .otherRelyingParty }
        guard data.flags.contains(.userPresent) else { throw .userNotPresent }
        guard userVerification != .required || data.flags.contains(.userVerified) else { throw .userNotVerified }
        guard data.flags.contains(.backupEligible) || !data.flags.contains(.backedUp) else {
            throw .contradictoryBackupFlags
        }
    }
}

/// Why a phone's answer is not handed to the website.
public enum ResponseCheckError: Error, Equatable, Sendable {
    /// It can't be read.
    case malformed(CTAPResponseError)
    /// It is for another relying party.
    case otherRelyingParty
    /// Flag UP is not set.
    case userNotPresent
    /// Flag UV is not set, and the website requires it.
    case userNotVerified
    /// Flag BS is set and BE is not.
    case contradictoryBackupFlags
    /// A registration without a new credential.
    case noNewCredential
    /// The new key is of a kind that was not asked for.
    case algorithmNotAsked(COSEAlgorithm)
    /// The new key lacks what its algorithm needs.
    case malformedKey(COSEAlgorithm)
    /// A sign-in with a new credential in it.
    case unexpectedCredential
    /// It does not say which credential signed, though there was a choice.
    case noCredential
    /// The credential that signed was not among those allowed.
    case credentialNotAllowed
    /// The phone chose the account and does not say which.
    case noUserHandle
    /// The signature is empty.
    case noSignature
    /// The signature is of no algorithm's form.
    case malformedSignature

    /// What a website is told: the phone answered, and the answer can't be used.
    public var name: WebAuthnErrorName {
        switch self {
        case .userNotPresent, .userNotVerified: .notAllowedError
        default: .notReadableError
        }
    }

    /// What is wrong, as one line for people.
    public var sentence: String {
        switch self {
        case .malformed: "the phone's answer can't be read"
        case .otherRelyingParty: "the phone answered for another website"
        case .userNotPresent: "the phone answered without asking its user"
        case .userNotVerified: "the website requires that the user is verified, and the phone did not verify"
        case .contradictoryBackupFlags: "the phone's answer contradicts itself about backups"
        case .noNewCredential: "the phone's answer contains no new passkey"
        case .algorithmNotAsked(let algorithm):
            "the phone made a key of a kind that was not asked for (COSE algorithm \(algorithm.rawValue))"
        case .malformedKey(let algorithm):
            "the phone made a key that lacks a part (COSE algorithm \(algorithm.rawValue))"
        case .unexpectedCredential: "the phone made a new passkey though it was asked to sign in"
        case .noCredential: "the phone does not say which passkey it used"
        case .credentialNotAllowed: "the phone used a passkey that the website does not allow here"
        case .noUserHandle: "the phone does not say which account it chose"
        case .noSignature: "the phone's answer has no signature"
        case .malformedSignature: "the phone's answer has something else in the place of a signature"
        }
    }
}
