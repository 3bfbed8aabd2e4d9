// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// An entry of the store's history: one request and its outcome.
///
/// Each request that unlocked the store has one. A request that ended earlier, such as with a wrong PIN, has none,
/// because only an unlocked store can be written to.
public struct ServedRequest: Equatable, Sendable {
    /// Outcomes of a request.
    public enum Outcome: Equatable, Sendable {
        /// Fulfilled, and the response was sent.
        case done
        /// The user declined.
        case declined
        /// The user did not answer in time.
        case unanswered
        /// No passkey to sign in with.
        case noPasskey
        /// The site excluded a passkey that exists here.
        case alreadyRegistered
        /// The client disappeared before it could receive the response.
        case clientGone
        /// Any other failure.
        case failed
    }

    /// The operation and its relying party.
    public let operation: RequestedOperation
    /// The outcome.
    public let outcome: Outcome
    /// The passkey that was created or used, even if the client never received the response.
    public let credential: CredentialID?

    /// Creates an entry.
    public init(_ operation: RequestedOperation, _ outcome: Outcome, credential: CredentialID? = nil) {
        self.operation = operation
        self.outcome = outcome
        self.credential = credential
    }
}
