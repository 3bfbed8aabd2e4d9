// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP

/// A response, and what it stands for.
struct Fulfilled<Response: Sendable>: Sendable {
    let response: Response
    /// What was made or has signed.
    let credential: CredentialID
    /// What the new passkey replaces.
    var replaced: [CredentialID] = []
}

/// A request that opened the store and was answered, while nobody knows whether the client hears that.
struct AnsweredRequest: Sendable {
    let store: any UnlockedCredentialStore
    let operation: RequestedOperation
    /// How it ended if the client hears of it.
    let outcome: ServedRequest.Outcome
    var credential: CredentialID?
    var replaced: [CredentialID] = []
    /// Whether the answer was sent.
    var wasSent = false

    /// For whom it was.
    var relyingParty: RelyingPartyID {
        switch operation {
        case .create(let relyingParty), .signIn(let relyingParty): relyingParty
        }
    }

    func served(wasHeard: Bool) -> ServedRequest {
        let isLost = outcome == .done && !wasHeard
        return ServedRequest(operation, isLost ? .clientGone : outcome, credential: credential)
    }
}
