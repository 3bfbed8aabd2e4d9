// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import HybridCTAP
internal import HybridRelyingParty

/// A refusal, with the identifier, the sentence and the status that the page receives.
struct SiteError: Error, Hashable, Sendable {
    let status: HTTPResponse.Status
    /// Identifier for the page: lower-case words joined by hyphens.
    let code: String
    /// Cause and remedy for the user.
    let sentence: String
    /// Passkey that the site does not know, which the page reports to the passkey provider.
    var unknownCredential: CredentialID?

    private init(_ status: HTTPResponse.Status, _ code: String, _ sentence: String) {
        self.status = status
        self.code = code
        self.sentence = sentence
    }

    // MARK: Requests

    static let otherHost = Self(.misdirectedRequest, "other-host", "This server is for other host names.")
    static let otherOrigin = Self(
        .forbidden,
        "other-origin",
        "The request came from a page of another site, so nothing was done."
    )
    static let notJSON = Self(.unsupportedMediaType, "not-json", "The request must have the type application/json.")
    static let malformed = Self(.badRequest, "malformed", "The request does not have the expected members.")
    static let tooLong = Self(.contentTooLarge, "too-long", "The request is too long.")
    static let tooSlow = Self(.requestTimeout, "too-slow", "The request took too long. Try again.")
    static let busy = Self(.serviceUnavailable, "busy", "The site is busy. Try again in a moment.")

    // MARK: Accounts

    static let malformedName = Self(
        .badRequest,
        "malformed-name",
        "A name has 1 to \(ShownName.maximumLength) visible characters."
    )
    static let nameTaken = Self(
        .conflict,
        "name-taken",
        "There is an account with this name. Choose another, or sign in."
    )
    static let full = Self(
        .serviceUnavailable,
        "full",
        "This demo has no room for more accounts. Restart it to remove all accounts."
    )
    static let unsuitablePassword = Self(
        .badRequest,
        "unsuitable-password",
        "A password has at least \(PasswordHash.minimumLength) characters, "
            + "and at most \(PasswordHash.maximumLength) bytes."
    )
    static let wrongPassword = Self(.unauthorized, "wrong-password", "The name or the password is wrong.")
    static let passwordPause = Self(
        .tooManyRequests,
        "password-pause",
        "There were too many wrong passwords. Wait a minute, or use a passkey."
    )
    static let signedOut = Self(.unauthorized, "signed-out", "You are signed out. Sign in again.")
    static let noAccountRemembered = Self(
        .conflict,
        "no-account-remembered",
        "This browser remembers no account. Sign in."
    )

    // MARK: Passkeys

    static let noSuchPasskey = Self(.notFound, "no-such-passkey", "Your account no longer has this passkey.")
    static let passkeyRegistered = Self(.conflict, "already-registered", "This passkey is already registered.")
    static let lastWayIn = Self(
        .conflict,
        "last-way-in",
        "This is the only way into your account. Add another passkey before you delete this one."
    )

    static func tooManyPasskeys(_ limit: Int) -> Self {
        Self(.conflict, "too-many-passkeys", "An account can have \(limit) passkeys. Delete one first.")
    }

    static func unknownPasskey(_ id: CredentialID) -> Self {
        var error = Self(
            .unauthorized,
            "unknown-credential",
            "This site does not know the passkey, perhaps because it was deleted. Use another one."
        )
        error.unknownCredential = id
        return error
    }

    /// Creates the refusal of a response that was not accepted.
    ///
    /// The identifier is the library's, which developers can look up. Users get one sentence for most causes.
    init(_ rejection: ResponseRejection) {
        let sentence =
            switch rejection.cause {
            case .expiredChallenge, .unknownChallenge:
                "This took too long, or the page was used in another tab. Try again."
            case .untrustedAttestation, .algorithmNotRequested: "This site does not accept passkeys of this kind."
            case .alreadyRegistered: Self.passkeyRegistered.sentence
            default: "The site could not verify the passkey. Try again."
            }
        self.init(
            rejection.procedure == .registration ? .badRequest : .unauthorized,
            rejection.cause.code,
            sentence
        )
    }
}
