// SPDX-License-Identifier: Apache-2.0

/// How much a website wants the user to be verified; unknown words mean `preferred`.
public enum UserVerificationRequirement: String, Sendable {
    /// The answer must say that the user was verified.
    case required
    /// It would be good.
    case preferred
    /// It is not needed.
    case discouraged

    init(optional text: String?) { self = text.flatMap(Self.init(rawValue:)) ?? .preferred }
}

/// How much a website wants a passkey that is found without being named (WebAuthn Level 3 §5.4.6).
public enum ResidentKeyRequirement: String, Sendable {
    /// No other will do.
    case required
    /// It would be good.
    case preferred
    /// Another would be better.
    case discouraged
}

/// How much a website wants to know of what made a passkey (WebAuthn Level 3 §5.4.7); unknown words mean `none`.
public enum AttestationConveyance: String, Sendable {
    /// Nothing.
    case none
    /// Something; the client may make it less telling, which this one does not.
    case indirect
    /// What the authenticator says.
    case direct
    /// What names a single authenticator; phones have no such thing over hybrid, so it is `direct` here.
    case enterprise

    init(optional text: String?) { self = text.flatMap(Self.init(rawValue:)) ?? .none }
}
