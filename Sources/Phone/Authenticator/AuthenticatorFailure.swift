// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
public import HybridPrimitives

/// The reason why a request was not fulfilled.
///
/// It contains a sentence for the user of this device and a CTAP status for the client.
public struct AuthenticatorFailure: ExplainedFailure, Equatable {
    /// Machine-readable cause, which never changes.
    public let code: String
    /// Cause and remedy on one line.
    public let sentence: String
    /// Exit status of a command that ends with this failure.
    public let status: ExitStatus
    /// The status that the client receives.
    public let ctapStatus: CTAPStatus
    /// The store's own error, if the store failed; `==` ignores it.
    public let underlying: (any Error)?
    /// The outcome that is recorded in the history.
    let outcome: UsageEntry.Outcome
    /// True if the same client may not ask this user again.
    let endsPrompts: Bool

    private init(
        _ code: String,
        _ status: ExitStatus,
        _ ctapStatus: CTAPStatus,
        _ sentence: String,
        underlying: (any Error)? = nil,
        outcome: UsageEntry.Outcome = .failed,
        endsPrompts: Bool = false
    ) {
        self.code = code
        self.sentence = sentence
        self.status = status
        self.ctapStatus = ctapStatus
        self.underlying = underlying
        self.outcome = outcome
        self.endsPrompts = endsPrompts
    }

    // The client cannot distinguish a refusal from a wrong PIN or a lockout: only the user of this device learns that.

    /// The user declined.
    public static let declined = AuthenticatorFailure(
        "declined",
        .notPermitted,
        .operationDenied,
        "you declined",
        outcome: .declined,
        endsPrompts: true
    )

    /// The user did not answer in time.
    public static let userTimedOut = AuthenticatorFailure(
        "not-answered-in-time",
        .temporary,
        .userActionTimeout,
        "the question was not answered in time; scan a new QR code to try again",
        outcome: .unanswered,
        endsPrompts: true
    )

    /// True if the user needs a new code to try again; a linked client does not show one.
    public var needsNewCode: Bool { self == .userTimedOut || self == .tooManyRequests }

    /// No prompt can be shown to the user.
    public static func userUnavailable(_ sentence: String) -> AuthenticatorFailure {
        AuthenticatorFailure("user-not-reachable", .unavailable, .operationDenied, sentence)
    }

    /// The client canceled the request or disconnected while the user was prompted.
    public static let cancelled = AuthenticatorFailure(
        "cancelled-by-client",
        .temporary,
        .keepaliveCancel,
        "the other device cancelled",
        outcome: .clientGone
    )

    /// The user entered a wrong PIN ``Authenticator/pinAttempts`` times, or until the store imposed a wait.
    public static let wrongPIN = AuthenticatorFailure(
        "wrong-pin",
        .notPermitted,
        .operationDenied,
        "the PIN was wrong each time; nothing was signed",
        endsPrompts: true
    )

    /// The store imposes a wait after too many wrong PINs.
    public static func lockedOut(seconds: Int) -> AuthenticatorFailure {
        AuthenticatorFailure(
            "locked-out",
            .notPermitted,
            .operationDenied,
            "too many wrong PINs; try again in \(seconds) seconds",
            endsPrompts: true
        )
    }

    /// More requests in one session than ``Authenticator/maximumPromptedRequests``, or more prompts than
    /// ``Authenticator/maximumPrompts``.
    public static let tooManyRequests = AuthenticatorFailure(
        "too-many-requests",
        .notPermitted,
        .operationDenied,
        "this code's limit (\(Authenticator.maximumPromptedRequests) requests, \(Authenticator.maximumPrompts) "
            + "prompts) is used up; scan a new code if you trust the other device",
        endsPrompts: true
    )

    /// The store has no passkey for this relying party, or none that the request allows.
    public static let noPasskey = AuthenticatorFailure(
        "no-passkey",
        .notPermitted,
        .noCredentials,
        "the vault has no passkey that the site accepts",
        outcome: .noPasskey
    )

    /// There are only SSH keys for this relying party, and the client did not state the data to be signed.
    ///
    /// The client gets the status of ``noPasskey``, because there is no passkey for a website.
    public static let signedDataMissing = AuthenticatorFailure(
        "signed-data-missing",
        .notPermitted,
        .noCredentials,
        "the other device did not say what is to be signed, and the SSH key signs nothing without that",
        outcome: .noPasskey
    )

    /// The stated data is not what would be signed.
    public static let signedDataMismatch = AuthenticatorFailure(
        "signed-data-mismatch",
        .dataError,
        .invalidParameter,
        "the other device asked you to sign something different from what it showed; do not trust it"
    )

    /// The stated data is neither an SSH login nor an SSH message, or names another kind of relying party.
    public static let signedDataUnrecognized = AuthenticatorFailure(
        "signed-data-unrecognized",
        .dataError,
        .invalidParameter,
        "the data that the other device asked to sign is neither an SSH login nor an SSH message"
    )

    /// An SSH key was requested for a relying party that SSH does not support.
    public static let noSSHApplication = AuthenticatorFailure(
        "no-ssh-application",
        .dataError,
        .invalidParameter,
        "the other device asked for an SSH key that SSH does not support"
    )

    /// An encryption key was requested, but not its secret, for which alone it exists.
    public static let secretNotRequested = AuthenticatorFailure(
        "secret-not-requested",
        .dataError,
        .missingParameter,
        "the other device asked for an encryption key but not for its secret; use hybrid-key on the computer, and update it"
    )

    /// A passkey on the exclude list exists here.
    public static let alreadyRegistered = AuthenticatorFailure(
        "already-registered",
        .notPermitted,
        .credentialExcluded,
        "there is already a passkey for this site",
        outcome: .alreadyRegistered
    )

    /// None of the requested algorithms is supported.
    public static let noSupportedAlgorithm = AuthenticatorFailure(
        "algorithm-not-supported",
        .dataError,
        .unsupportedAlgorithm,
        "the site asks for key types that this authenticator does not have (it has ES256)"
    )

    /// The client requested a signature without the user's consent.
    public static let silentRequest = AuthenticatorFailure(
        "silent-request",
        .dataError,
        .unsupportedOption,
        "the other device asked for an answer without your consent"
    )

    /// The store cannot be used.
    public static func storeUnusable(_ sentence: String, underlying: (any Error)? = nil) -> AuthenticatorFailure {
        AuthenticatorFailure("vault-unusable", .notPermitted, .other, sentence, underlying: underlying)
    }

    /// The passkey could not be saved.
    public static func notSaved(_ sentence: String, underlying: (any Error)? = nil) -> AuthenticatorFailure {
        AuthenticatorFailure("not-saved", .ioError, .keyStoreFull, sentence, underlying: underlying)
    }

    /// A bug in this program.
    public static func internalFault(_ text: String) -> AuthenticatorFailure {
        AuthenticatorFailure("internal-fault", .software, .other, "internal fault: \(text)")
    }

    /// Creates the failure of a request whose store could not be unlocked.
    init(_ failure: UnlockFailure) {
        if failure.attemptsLeft != nil {
            self = .wrongPIN
        } else if let seconds = failure.waitSeconds {
            self = .lockedOut(seconds: seconds)
        } else {
            self = .storeUnusable(failure.sentence, underlying: failure.underlying)
        }
    }

    /// Creates the failure of a request whose unlocked store failed.
    init(_ failure: StoreFailure) {
        switch failure.kind {
        case .locked: self = .internalFault("the store was locked too early")
        case .notWritten, .additionNotRecorded, .deletionNotRecorded:
            self = .notSaved(failure.sentence, underlying: failure.underlying)
        default: self = .storeUnusable(failure.sentence, underlying: failure.underlying)
        }
    }

    /// Compares codes and sentences.
    public static func == (left: AuthenticatorFailure, right: AuthenticatorFailure) -> Bool {
        left.code == right.code && left.sentence == right.sentence
    }
}
