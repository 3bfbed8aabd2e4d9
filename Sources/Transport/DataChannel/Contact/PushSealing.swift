// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridPrimitives

/// A contact ID in which a relay has encrypted a push subscription.
public struct PushContactID: Sendable, SecretMaterial {
    /// The contact ID; at most 300 bytes.
    public let contactID: ContactID
    /// The time at which the relay ceases to accept it, in seconds since 1970.
    public let expiry: UInt64
}

/// The reason why a relay does not issue a contact ID for a push subscription.
public struct PushRefusal: ExplainedFailure, Hashable {
    /// The relay's reason.
    public let reason: UnsealedReason

    /// Creates a refusal.
    public init(_ reason: UnsealedReason) { self.reason = reason }

    /// The identifier of the reason for programs.
    public var code: String {
        switch reason {
        case .notOffered: "push-not-offered"
        case .endpointNotAllowed: "push-address-not-allowed"
        case .endpointTooLong: "push-address-too-long"
        case .pushServerRefused: "push-server-refused"
        case .proofTimedOut: "push-not-delivered"
        case .rateLimited: "push-limit-reached"
        }
    }

    /// Cause and remedy on one line.
    public var sentence: String {
        switch reason {
        case .notOffered:
            "the relay does not wake phones by push messages; use another relay, or turn the setting push off"
        case .endpointNotAllowed:
            "the relay does not use this push server; use another push service, or ask the relay's operator to allow it"
        case .endpointTooLong:
            "the push service's address is too long for a link; use another push service, or turn the setting push off"
        case .pushServerRefused: "the relay can't use the push server; retrying automatically"
        case .proofTimedOut: "the push service did not deliver the relay's message in time; retrying automatically"
        case .rateLimited: "the relay's limit for push services is reached; retrying automatically"
        }
    }

    /// The exit status of a command that ends with this failure.
    public var status: ExitStatus {
        switch reason {
        case .notOffered, .endpointNotAllowed, .endpointTooLong: .unavailable
        case .pushServerRefused, .proofTimedOut, .rateLimited: .temporary
        }
    }
}

extension ContactListener {
    /// Asks for the key to which push subscriptions for this relay are restricted (RFC 8292 §4.1).
    ///
    /// - Throws: ``TunnelError``, ``PushRefusal``, `CancellationError`.
    public func pushKey() async throws -> PushPublicKey {
        try await send(.vapidRequest)
        return try await answer { if case .vapid(let key) = $0 { key } else { nil } }
    }

    /// Obtains a contact ID for a push subscription, which the relay pushes a nonce to.
    ///
    /// - Parameters:
    ///   - subscription: The subscription of this phone.
    ///   - proof: Waits for the nonce at the subscription.
    /// - Throws: ``TunnelError``, ``PushRefusal``, `CancellationError`, and the errors of `proof`.
    public func seal(
        _ subscription: PushSubscription,
        proof: @escaping @Sendable () async throws -> PushNonce
    ) async throws -> PushContactID {
        try await send(.seal(subscription))
        return try await withThrowingTaskGroup(of: PushContactID?.self) { group in
            group.addTask {
                try await answer { message in
                    guard case .sealed(let contact, let expiry) = message else { return nil }
                    return PushContactID(contactID: contact, expiry: UInt64(clamping: expiry))
                }
            }
            group.addTask {
                try await send(.proof(try await proof()))
                return nil
            }
            defer { group.cancelAll() }
            for try await case let contact? in group {
                guard contact.contactID.kind == .push else { throw Self.unexpected }
                return contact
            }
            throw CancellationError()
        }
    }

    /// Returns the relay's answer; wake-ups may precede it and are ignored, because this key belongs to no link.
    private func answer<Answer: Sendable>(
        _ parse: @Sendable (ListenMessage) -> Answer?
    ) async throws -> Answer {
        while true {
            let message = try await receive()
            if let answer = parse(message) { return answer }
            switch message {
            case .wake: continue
            case .unsealed(let reason): throw PushRefusal(reason)
            default: throw Self.unexpected
            }
        }
    }
}
