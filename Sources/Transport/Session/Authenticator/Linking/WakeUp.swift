// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridDataChannel

/// A wake-up whose sender has proved that it knows the secret of the link.
///
/// A relay knows the ID of a link, but not its secret. So it cannot make an authenticator ask its user.
public struct VerifiedWakeUp: Sendable {
    /// The link of the client.
    public let link: PhoneLink
    /// The type of the client's request, which the client may choose freely.
    public let hint: RequestHint
    /// The nonce of this contact, from which its keys are derived.
    let nonce: ContactNonce
    /// The number, time and cause of the request.
    ///
    /// The caller rejects numbers that it has seen, and old requests.
    public let claims: ContactClaims
    /// The wake-up as received.
    public let wake: ContactWakeUp

    /// Verifies a wake-up that was received for a link.
    ///
    /// - Returns: `nil` if it names another link, or its proof is missing or wrong.
    public init?(_ wake: ContactWakeUp, for link: PhoneLink) {
        guard let request = ContactRequest(parsing: wake.payload), request.linkID == link.id,
            let claims = request.provenClaims(secret: link.secret, host: link.domain.host)
        else { return nil }
        (self.link, hint, nonce, self.claims, self.wake) = (link, request.hint, request.nonce, claims, wake)
    }

    /// Asks the user and returns the decision.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor.
    ///   - ask: Returns the user's answer. It uses neither a radio nor a network.
    public func decision(
        isolation: isolated (any Actor)? = #isolation,
        by ask: (VerifiedWakeUp) async throws -> WakeUpAnswer
    ) async rethrows -> WakeUpDecision {
        switch try await ask(self) {
        case .approved: .approved(ApprovedWakeUp(request: self))
        case .declined: .declined
        case .unanswered: .unanswered
        }
    }
}

/// The user's answer to the question about one wake-up.
public enum WakeUpAnswer: Hashable, Sendable {
    /// The user tapped.
    case approved
    /// The user declined.
    case declined
    /// There was no answer in time, or the question could not be shown.
    case unanswered
}

/// The decision about one wake-up: the user's answer and, after a tap, the permission for a ceremony.
public enum WakeUpDecision: Sendable {
    /// The user tapped.
    case approved(ApprovedWakeUp)
    /// The user declined.
    case declined
    /// There was no answer in time, or the question could not be shown.
    case unanswered

    /// The user's answer.
    public var answer: WakeUpAnswer {
        switch self {
        case .approved: .approved
        case .declined: .declined
        case .unanswered: .unanswered
        }
    }
}

/// A wake-up that the user has approved.
///
/// Only ``VerifiedWakeUp/decision(isolation:by:)`` creates it, and only with it does a session advertise or open a tunnel.
/// Otherwise a relay, or a thief of the link's secret, could locate the device.
public struct ApprovedWakeUp: Sendable {
    /// The request.
    public let request: VerifiedWakeUp

    fileprivate init(request: VerifiedWakeUp) { self.request = request }
}
