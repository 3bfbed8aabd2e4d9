// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Limits on messages for push servers: a pure state machine without tasks or a clock.
///
/// Anybody can request a proof for any URL, own a push server that is slow, and subscribe at the push server of other
/// users. So proofs take at most a quarter of all places, and of each push server's places and rate. The messages of one
/// party take at most a sixteenth of all places, and of the rate that one push server has.
///
/// *Scarcity.* A sixteenth for each would let sixteen parties take everything. Once more than half of the places are in
/// use, each party may have only one. Once more than half of a push server's rate is in use, or a quarter of that of
/// proofs, a party gets a sixty-fourth of it. So those who send little still find room.
struct PushPlaces: Sendable {
    /// Maximum number of messages on their way.
    static let maximum = 256
    /// Maximum number of messages on their way to one push server.
    static let maximumPerHost = 32
    /// The part of all places, and of each push server's places and rate, that proofs may take: a quarter.
    static let proofShare = 4
    /// The part of all places, and of a push server's rate, that one party may take: a sixteenth.
    static let partyShare = 16
    /// The part of a push server's rate that one party may take while more than half of it is in use: a sixty-fourth.
    static let scarceShare = 64
    /// Maximum number of parties whose messages are counted.
    static let maximumParties = 4096
    /// Maximum number of push servers whose messages are counted; those of further ones are refused.
    static let maximumHosts = 4096

    /// A message that asks for a place.
    struct Request: Sendable {
        /// The origin of the push server.
        let origin: String
        /// Number of the party that caused the message; `nil` if it has no limits.
        let party: Int?
        /// True for a message whose receiver has not proven that it wants messages.
        let isProof: Bool
    }

    /// Numbers and a bucket, of wake-ups and proofs together or of proofs alone.
    private struct Use {
        var bucket = RateBucket()
        var pending = 0
    }

    private struct Host {
        var all = Use()
        var proofs = Use()

        var fullAt: NIODeadline { max(all.bucket.fullAt, proofs.bucket.fullAt) }
    }

    private struct Party {
        var all = Use()
        /// The party's part of a rate that is scarce.
        var scarceWakeUps = RateBucket()
        var scarceProofs = RateBucket()

        var fullAt: NIODeadline { max(all.bucket.fullAt, scarceWakeUps.fullAt, scarceProofs.fullAt) }
    }

    private var pending = 0
    private var pendingProofs = 0
    private var hosts: [String: Host] = [:]
    private var parties: [Int: Party] = [:]

    /// Counts a message; false if a limit has been reached.
    mutating func admit(_ request: Request, perMinuteAndHost: Int, now: NIODeadline) -> Bool {
        forgetIdle(now: now)
        let (rate, isProof) = (Self.rate(perMinuteAndHost), request.isProof)
        let proofRate = Self.rate(perMinuteAndHost, dividedBy: Self.proofShare)
        guard var host = hosts[request.origin] ?? (hosts.count < Self.maximumHosts ? Host() : nil),
            pending < Self.maximum, host.all.pending < Self.maximumPerHost,
            host.all.bucket.hasRoom(for: rate, now: now),
            !isProof || hasRoomForProof(at: host, proofRate, now: now)
        else { return false }
        let isScarce =
            host.all.bucket.isBelowHalf(of: rate, now: now)
            || isProof && host.proofs.bucket.hasUsed(moreThan: 2, of: proofRate, now: now)
        let isCrowded = isCrowded(at: host, isProof)
        guard takePlace(request, perMinuteAndHost, isScarce: isScarce, isCrowded: isCrowded, now: now) else {
            return false
        }
        pending += 1
        host.all.pending += 1
        host.all.bucket.take(1, of: rate, now: now)
        if isProof {
            pendingProofs += 1
            host.proofs.pending += 1
            host.proofs.bucket.take(1, of: proofRate, now: now)
        }
        hosts[request.origin] = host
        return true
    }

    /// Stops counting a message that has been answered.
    mutating func remove(_ request: Request) {
        pending -= 1
        hosts[request.origin]?.all.pending -= 1
        if request.isProof {
            pendingProofs -= 1
            hosts[request.origin]?.proofs.pending -= 1
        }
        // A party that was not counted may be by now.
        if let number = request.party, let count = parties[number]?.all.pending {
            parties[number]?.all.pending = max(0, count - 1)
        }
    }

    private func hasRoomForProof(at host: Host, _ rate: EventRate, now: NIODeadline) -> Bool {
        pendingProofs < Self.maximum / Self.proofShare
            && host.proofs.pending < Self.maximumPerHost / Self.proofShare
            && host.proofs.bucket.hasRoom(for: rate, now: now)
    }

    /// Returns true if more than half of the places that a message could have are in use.
    private func isCrowded(at host: Host, _ isProof: Bool) -> Bool {
        let own = Self.maximum / 2
        if pending >= own || host.all.pending >= Self.maximumPerHost / 2 { return true }
        return isProof
            && (pendingProofs >= own / Self.proofShare
                || host.proofs.pending >= Self.maximumPerHost / 2 / Self.proofShare)
    }

    /// Counts a message of a party; false if the party has reached its limits.
    ///
    /// If there are too many parties, another one is not counted: then they are many, and a limit for each stops none.
    private mutating func takePlace(
        _ request: Request,
        _ perMinuteAndHost: Int,
        isScarce: Bool,
        isCrowded: Bool,
        now: NIODeadline
    ) -> Bool {
        guard let number = request.party, parties[number] != nil || parties.count < Self.maximumParties else {
            return true
        }
        let rate = Self.rate(perMinuteAndHost, dividedBy: Self.partyShare)
        let divisor = Self.scarceShare * (request.isProof ? Self.proofShare : 1)
        let scarceRate = Self.rate(perMinuteAndHost, dividedBy: divisor)
        var party = parties[number] ?? Party()
        let scarce = request.isProof ? party.scarceProofs : party.scarceWakeUps
        guard party.all.pending < (isCrowded ? 1 : Self.maximum / Self.partyShare),
            party.all.bucket.hasRoom(for: rate, now: now), !isScarce || scarce.hasRoom(for: scarceRate, now: now)
        else { return false }
        party.all.pending += 1
        party.all.bucket.take(1, of: rate, now: now)
        if isScarce, request.isProof { party.scarceProofs.take(1, of: scarceRate, now: now) }
        if isScarce, !request.isProof { party.scarceWakeUps.take(1, of: scarceRate, now: now) }
        parties[number] = party
        return true
    }

    /// Returns a part of the rate of a push server's messages.
    private static func rate(_ perMinute: Int, dividedBy divisor: Int = 1) -> EventRate {
        let part = perMinute > 0 ? max(1, perMinute / divisor) : 0
        return EventRate(perMinute: part, burst: max(1, part / 6))
    }

    /// Forgets push servers and parties that are like new ones, once there are many.
    private mutating func forgetIdle(now: NIODeadline) {
        if hosts.count >= Self.maximumHosts {
            hosts = hosts.filter { $0.value.all.pending > 0 || $0.value.fullAt > now }
        }
        if parties.count >= Self.maximumParties {
            parties = parties.filter { $0.value.all.pending > 0 || $0.value.fullAt > now }
        }
    }
}
