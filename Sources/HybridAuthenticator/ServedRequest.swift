// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// What became of one request, as the store's history has it.
///
/// There is one for each request that opened the store; what ended before that (a wrong PIN, a refusal to type one)
/// leaves none, because only an opened store can be written to.
public struct ServedRequest: Equatable, Sendable {
    /// How it ended.
    public enum Outcome: Equatable, Sendable {
        /// It was fulfilled, and the answer was sent.
        case done
        /// The person said no.
        case declined
        /// Nobody answered the question in time.
        case unanswered
        /// There was no passkey to sign in with.
        case noPasskey
        /// A passkey that the site excludes was here.
        case alreadyRegistered
        /// The client went away before it could hear the answer.
        case clientGone
        /// Something else was in the way.
        case failed
    }

    /// What was asked for, and for whom.
    public let operation: RequestedOperation
    /// How it ended.
    public let outcome: Outcome
    /// The passkey that was made or has signed, also if the client never heard of it.
    public let credential: CredentialID?

    /// What became of a request.
    public init(_ operation: RequestedOperation, _ outcome: Outcome, credential: CredentialID? = nil) {
        self.operation = operation
        self.outcome = outcome
        self.credential = credential
    }
}

extension ServedRequest.Outcome {
    /// How a request ended that was not fulfilled.
    init(_ failure: AuthenticatorFailure) {
        self =
            switch failure {
            case .declined: .declined
            case .userTimedOut: .unanswered
            case .noPasskey: .noPasskey
            case .alreadyRegistered: .alreadyRegistered
            case .cancelled: .clientGone
            case .userUnavailable, .wrongPIN, .lockedOut, .noSupportedAlgorithm, .silentRequest, .storeUnusable,
                .notSaved, .internalFault:
                .failed
            }
    }
}
