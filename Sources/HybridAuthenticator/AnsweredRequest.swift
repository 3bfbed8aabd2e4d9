// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP

/// A response together with the passkeys that it affects.
struct Fulfilled<Response: Sendable>: Sendable {
    let response: Response
    /// The passkey that was created or used.
    let credential: CredentialID
    /// The passkeys that the new one replaces.
    var replaced: [CredentialID] = []
}

/// A request that unlocked the store and was answered, until it is known whether the client has the response.
struct AnsweredRequest: Sendable {
    let store: any UnlockedCredentialStore
    let operation: RequestedOperation
    /// The outcome if the client receives the response.
    let outcome: ServedRequest.Outcome
    var credential: CredentialID?
    var replaced: [CredentialID] = []
    /// True if the response was sent.
    var wasSent = false

    /// The relying party of the operation.
    var relyingParty: RelyingPartyID {
        switch operation {
        case .create(let relyingParty), .signIn(let relyingParty): relyingParty
        }
    }

    func served(wasDelivered: Bool) -> ServedRequest {
        let isLost = outcome == .done && !wasDelivered
        return ServedRequest(operation, isLost ? .clientGone : outcome, credential: credential)
    }
}
