// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

extension CTAPStatus {
    /// What a website is told where a phone answers with this status (WebAuthn Level 3 §5.1.3, §5.1.4, §6.3.2, §6.3.3).
    ///
    /// WebAuthn names the causes and leaves the statuses to CTAP. Whether a passkey exists, whether its user declined
    /// and whether they were there at all is one and the same to a website, except where the user agreed to tell that
    /// there is a passkey already.
    public var webAuthnError: WebAuthnErrorName {
        switch self {
        case .credentialExcluded: .invalidStateError
        case .unsupportedAlgorithm, .invalidCommand, .invalidSubcommand: .notSupportedError
        case .unsupportedOption, .invalidOption, .keyStoreFull, .largeBlobStorageFull: .constraintError
        case .operationDenied, .noCredentials, .invalidCredential, .keepaliveCancel, .userActionTimeout,
            .actionTimeout, .timeout, .notAllowed, .pinInvalid, .pinBlocked, .pinAuthInvalid, .pinAuthBlocked,
            .pinNotSet, .pinUvTokenRequired, .pinPolicyViolation, .presenceRequired, .uvBlocked, .uvInvalid,
            .unauthorizedPermission:
            .notAllowedError
        default: .unknownError
        }
    }
}
