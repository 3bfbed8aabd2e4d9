// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCommandSupport
public import HybridPrimitives
internal import HybridWebAuthn

/// Why a phone's answer is none for the website: in a sentence, for a script, and as a browser would tell the website.
struct PhoneRefusal: Error, Hashable {
    /// What a browser would call it.
    let error: WebAuthnErrorName
    /// The cause for programs.
    let code: String
    /// Cause and remedy.
    let sentence: String
    /// The exit code.
    let exitStatus: ExitStatus

    /// A phone said no.
    init(_ status: CTAPStatus, for site: RelyingPartyID) {
        error = status.webAuthnError
        code =
            switch status {
            case .operationDenied: "declined"
            case .noCredentials: "no-passkey"
            case .credentialExcluded: "already-registered"
            case .userActionTimeout: "not-confirmed-on-phone"
            case .keepaliveCancel: "cancelled-on-phone"
            case .unsupportedAlgorithm: "algorithm-not-supported"
            default: "phone-refused"
            }
        switch status {
        case .operationDenied: (sentence, exitStatus) = ("it was declined on the phone", .notPermitted)
        case .noCredentials: (sentence, exitStatus) = ("the phone has no passkey for \(site)", .notPermitted)
        case .credentialExcluded:
            (sentence, exitStatus) = ("the phone has a passkey for this account at \(site) already", .notPermitted)
        case .userActionTimeout:
            (sentence, exitStatus) = ("the phone waited for its user in vain; try again", .temporary)
        case .keepaliveCancel:
            (sentence, exitStatus) = ("it was cancelled before anybody confirmed on the phone; try again", .temporary)
        case .timeout, .actionTimeout, .channelBusy, .userActionPending, .operationPending, .processing:
            (sentence, exitStatus) = ("the phone did not get to an answer: \(status); try again", .temporary)
        case .unsupportedAlgorithm:
            (sentence, exitStatus) = (
                "the phone refused, as it makes none of the kinds of keys that the website takes", .notPermitted
            )
        case .unsupportedOption, .invalidOption:
            (sentence, exitStatus) = (
                "the phone can't do it as the website wants it: \(status); "
                    + "phones often keep only passkeys that need not be named (residentKey: required)",
                .notPermitted
            )
        case .keyStoreFull, .largeBlobStorageFull:
            (sentence, exitStatus) = ("the phone is full: \(status); delete a passkey there", .notPermitted)
        case .uvBlocked, .pinBlocked, .pinAuthBlocked:
            (sentence, exitStatus) = (
                "the phone is locked against more tries: \(status); unlock it and try again", .notPermitted
            )
        default: (sentence, exitStatus) = ("the phone refused: \(status)", .notPermitted)
        }
    }

    /// A phone can't do what the website insists on.
    init(_ missing: MissingAbility) {
        (error, code, sentence, exitStatus) = (missing.name, "phone-not-able", missing.sentence, .notPermitted)
    }

    /// A phone answered something that is not for the website.
    init(_ check: ResponseCheckError) {
        (error, code, sentence, exitStatus) = (check.name, "answer-unusable", check.sentence, .dataError)
    }
}

extension CommandFailure {
    /// The sentence, with the name that a browser would use behind it.
    init(_ refusal: PhoneRefusal) {
        self.init(
            "\(refusal.sentence) (\(refusal.error.rawValue))",
            code: refusal.code,
            status: refusal.exitStatus,
            details: ["webauthn_error": refusal.error.rawValue]
        )
    }
}
