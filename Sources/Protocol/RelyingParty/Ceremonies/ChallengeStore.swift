// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridThreads

/// Ceremonies that wait for their responses, in memory.
///
/// A ceremony is returned once, to the session that began it, until it expires. The number of ceremonies is bounded. If
/// the store is full, the oldest one gives way, so that requests without responses cannot lock users out.
public final class ChallengeStore<Ceremony: PendingCeremony>: Sendable {
    private struct Entry: Sendable {
        let ceremony: Ceremony
        let session: [UInt8]
        let start: ContinuousClock.Instant
    }

    private let lifetime: Duration
    private let capacity: Int
    private let entries = Locked<[Challenge: Entry]>([:])

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - lifetime: Time after which a ceremony expires.
    ///   - capacity: Maximum number of ceremonies; at least 1.
    public init(lifetime: Duration = .seconds(300), capacity: Int = 10_000) {
        self.lifetime = lifetime
        self.capacity = max(capacity, 1)
    }

    /// Number of ceremonies, including expired ones that are not removed yet.
    public var count: Int { entries.withLock { $0.count } }

    /// Adds a ceremony.
    ///
    /// - Parameters:
    ///   - ceremony: The ceremony.
    ///   - session: Secret identifier of the browser's session, such as the value of a cookie.
    ///   - now: Current time.
    public func add(_ ceremony: Ceremony, session: String, now: ContinuousClock.Instant = .now) {
        entries.withLock { entries in
            if entries.count >= capacity { entries = entries.filter { now - $0.value.start < lifetime } }
            while entries.count >= capacity, let oldest = entries.min(by: { $0.value.start < $1.value.start }) {
                entries[oldest.key] = nil
            }
            entries[ceremony.challenge] = Entry(ceremony: ceremony, session: Array(session.utf8), start: now)
        }
    }

    /// Removes and returns the ceremony whose challenge a response repeats.
    ///
    /// A response of another session leaves the ceremony in place.
    ///
    /// - Parameters:
    ///   - clientData: Client data of the response.
    ///   - session: Session that sent the response.
    ///   - now: Current time.
    /// - Throws: `unknownChallenge` or `expiredChallenge` (§7.1 step 8, §7.2 step 11).
    public func take(
        _ clientData: CollectedClientData,
        session: String,
        now: ContinuousClock.Instant = .now
    ) throws(ResponseRejection) -> Ceremony {
        let challenge = Base64URL.decode(clientData.challenge).map(Challenge.init(bytes:))
        let session = Array(session.utf8)
        let entry = entries.withLock { entries -> Entry? in
            guard let challenge, let entry = entries[challenge], ConstantTime.equal(entry.session, session) else {
                return nil
            }
            entries[challenge] = nil
            return entry
        }
        guard let entry else { throw ResponseRejection(.unknownChallenge, in: Ceremony.procedure) }
        guard now - entry.start < lifetime else { throw ResponseRejection(.expiredChallenge, in: Ceremony.procedure) }
        return entry.ceremony
    }
}
