// SPDX-License-Identifier: Apache-2.0

/// What a browser would call an error towards the website: the names of Web IDL's exceptions that WebAuthn uses.
///
/// Websites decide by the name what to tell their users, which is why a client keeps to it, too.
public enum WebAuthnErrorName: String, CaseIterable, Sendable {
    /// A member is missing, of the wrong type or out of its bounds.
    case typeError = "TypeError"
    /// Text does not have the form it must have.
    case syntaxError = "SyntaxError"
    /// Bytes are not written as base64url.
    case encodingError = "EncodingError"
    /// The origin may not use the relying party ID.
    case securityError = "SecurityError"
    /// What is asked for does not exist, or not together with the rest.
    case notSupportedError = "NotSupportedError"
    /// The phone lacks what the website insists on.
    case constraintError = "ConstraintError"
    /// The account has a passkey on the phone already.
    case invalidStateError = "InvalidStateError"
    /// The user declined, did not answer, or has no passkey: which of them is none of the website's business.
    case notAllowedError = "NotAllowedError"
    /// The answer can't be used.
    case notReadableError = "NotReadableError"
    /// Something else.
    case unknownError = "UnknownError"
}
