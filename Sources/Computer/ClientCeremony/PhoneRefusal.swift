// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
package import HybridPrimitives
package import HybridWebAuthn

/// A phone's response with an error status.
package struct PhoneRefusal: WebAuthnFailure {
    package let name: WebAuthnErrorName
    package let code: String
    package let sentence: String
    package let status: ExitStatus

    /// Creates a failure for an error status of the phone.
    package init(_ status: CTAPStatus, for site: RelyingPartyID) {
        let (code, exitStatus, sentence): (String, ExitStatus, String) =
            switch status {
            case .operationDenied:
                ("declined", .notPermitted, "it was declined on the phone; start again, and confirm there")
            case .noCredentials:
                (
                    "no-passkey", .notPermitted,
                    "the phone has no passkey for \(site); use the phone that has it, or register there first"
                )
            case .credentialExcluded:
                (
                    "already-registered", .notPermitted,
                    "the phone already has a passkey for this account at \(site); sign in with it, or delete it on the "
                        + "phone first"
                )
            case .userActionTimeout:
                ("not-confirmed-on-phone", .temporary, "it was not confirmed on the phone in time; try again")
            case .keepaliveCancel:
                ("cancelled-on-phone", .temporary, "it was cancelled before it was confirmed on the phone; try again")
            case .timeout, .actionTimeout, .channelBusy, .userActionPending, .operationPending, .processing:
                ("phone-refused", .temporary, "the phone could not respond: \(status); try again")
            case .unsupportedAlgorithm:
                (
                    "algorithm-not-supported", .notPermitted,
                    "the phone refused, because it supports none of the key types that the website accepts; "
                        + "use a different phone"
                )
            case .unsupportedOption, .invalidOption:
                (
                    "phone-refused", .notPermitted,
                    "the phone does not support what the website requests: \(status); many phones store only "
                        + "discoverable passkeys (residentKey: required)"
                )
            case .keyStoreFull, .largeBlobStorageFull:
                ("phone-refused", .notPermitted, "the phone's storage is full: \(status); delete a passkey on it")
            case .uvBlocked, .pinBlocked, .pinAuthBlocked:
                (
                    "phone-refused", .notPermitted,
                    "the phone is locked after too many attempts: \(status); unlock it and try again"
                )
            default:
                ("phone-refused", .notPermitted, "the phone refused: \(status); try again, or use a different phone")
            }
        name = status.webAuthnError
        (self.code, self.status, self.sentence) = (code, exitStatus, sentence)
    }
}
