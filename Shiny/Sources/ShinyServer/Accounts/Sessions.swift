// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridRelyingParty

/// A browser's session.
struct Session: Sendable {
    /// Secret identifier, the value of the cookie.
    let id: String
    /// Account that is signed in.
    var account: UserHandle?
    /// Account that was signed in before, for a sign-in with an allow list.
    var remembered: UserHandle?
    fileprivate var used: ContinuousClock.Instant
}

/// Sessions in memory, at most a given number.
struct Sessions {
    private var sessions: [String: Session] = [:]
    private let limit: Int
    private let lifetime: Duration

    init(limit: Int, lifetime: Duration) {
        self.limit = max(limit, 1)
        self.lifetime = lifetime
    }

    /// Number of sessions, including expired ones that are not removed yet.
    var count: Int { sessions.count }

    /// Returns the session with this identifier and marks it as used; `nil` if it has expired.
    mutating func session(_ id: String?, now: ContinuousClock.Instant = .now) -> Session? {
        guard let id, var session = sessions[id] else { return nil }
        guard now - session.used < lifetime else {
            sessions[id] = nil
            return nil
        }
        session.used = now
        sessions[id] = session
        return session
    }

    /// Adds a session with a new identifier.
    ///
    /// - Parameters:
    ///   - replaced: Identifier of the session that ends, so that an identifier from before a sign-in is worthless.
    mutating func add(
        account: UserHandle? = nil,
        remembered: UserHandle? = nil,
        replacing replaced: String? = nil,
        now: ContinuousClock.Instant = .now
    ) -> Session {
        if let replaced { sessions[replaced] = nil }
        if sessions.count >= limit { sessions = sessions.filter { now - $0.value.used < lifetime } }
        while sessions.count >= limit, let oldest = sessions.min(by: { $0.value.used < $1.value.used }) {
            sessions[oldest.key] = nil
        }
        let session = Session(
            id: Challenge.random().bytes.base64URL,
            account: account,
            remembered: remembered ?? account,
            used: now
        )
        sessions[session.id] = session
        return session
    }
}
