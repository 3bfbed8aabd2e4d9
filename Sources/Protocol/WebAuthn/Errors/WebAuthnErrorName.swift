// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
public import HybridPrimitives

/// A failure that a browser would report to the website as an exception.
public protocol WebAuthnFailure: ExplainedFailure {
    /// Name of the exception that a browser would throw.
    var name: WebAuthnErrorName { get }
}

/// The name of a Web IDL exception that WebAuthn uses.
///
/// Websites choose their messages by this name, so a client should report the same names as browsers.
public enum WebAuthnErrorName: String, CaseIterable, Sendable {
    /// A member is missing, has the wrong type or is out of range.
    case typeError = "TypeError"
    /// A text is malformed.
    case syntaxError = "SyntaxError"
    /// Bytes are not base64url.
    case encodingError = "EncodingError"
    /// The origin may not use the relying party ID.
    case securityError = "SecurityError"
    /// A requested feature does not exist or is not available in this combination.
    case notSupportedError = "NotSupportedError"
    /// The phone lacks a required feature.
    case constraintError = "ConstraintError"
    /// The phone already has a passkey for the account.
    case invalidStateError = "InvalidStateError"
    /// The user declined, did not respond, or has no passkey; websites must not learn which.
    case notAllowedError = "NotAllowedError"
    /// The response is unusable.
    case notReadableError = "NotReadableError"
    /// Another error.
    case unknownError = "UnknownError"
}

extension CTAPStatus {
    /// The exception for this status of a phone's response (WebAuthn Level 3 §5.1.3, §5.1.4, §6.3.2, §6.3.3).
    ///
    /// WebAuthn defines causes, and CTAP defines statuses. A missing passkey, a user who declined and an absent user
    /// all have the same name, because a website must not be able to distinguish them. Only a passkey that already
    /// exists is reported, because the user has agreed to disclose it.
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
