// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// A number of events that may occur in a minute.
///
/// All of them, or `burst` of them, may occur at once. Then each becomes available again after its share of a minute.
struct EventRate: Hashable, Sendable {
    /// Maximum number of events in a minute; 0 or less means no limit.
    let perMinute: Int
    /// Maximum number of events at once.
    private let burst: Int

    init(perMinute: Int, burst: Int? = nil) { (self.perMinute, self.burst) = (perMinute, burst ?? perMinute) }

    /// The time in which a bucket regains one event.
    var share: TimeAmount { .nanoseconds(max(1, Self.minute / Int64(max(1, perMinute)))) }

    /// The capacity of a bucket: the time in which an empty bucket becomes full, at most one minute.
    var capacity: TimeAmount { share * Int(min(Int64(max(1, burst)), Self.minute)) }

    /// The part of the capacity that failed requests may use up: half, in whole events.
    var failureCapacity: TimeAmount { share * Int(min(Int64(max(1, burst)), Self.minute) / 2) }

    private static let minute = TimeAmount.minutes(1).nanoseconds
}

/// A token bucket (the generic cell rate algorithm, ITU-T I.371).
///
/// One number describes it: the bucket fills at a steady rate, so the time until it is full determines its level.
struct RateBucket: Hashable, Sendable {
    /// Time when the bucket is full again; in the past if it is full.
    private(set) var fullAt = NIODeadline.uptimeNanoseconds(0)

    /// Returns true if the bucket has room for one event.
    func hasRoom(for rate: EventRate, now: NIODeadline) -> Bool {
        rate.perMinute <= 0 || max(fullAt, now) + rate.share - now <= rate.capacity
    }

    /// Returns true if more than half of the capacity is in use.
    func isBelowHalf(of rate: EventRate, now: NIODeadline) -> Bool { hasUsed(moreThan: 4, of: rate, now: now) }

    /// Returns true if more than so many eighths of the capacity are in use.
    func hasUsed(moreThan eighths: Int, of rate: EventRate, now: NIODeadline) -> Bool {
        rate.perMinute > 0 && (max(fullAt, now) - now) * 8 > rate.capacity * eighths
    }

    /// Takes events from the bucket, also from an empty one.
    ///
    /// The debt is at most one capacity, so the bucket has room again after at most one minute.
    mutating func take(_ events: Int, of rate: EventRate, now: NIODeadline) {
        guard rate.perMinute > 0 else { return }
        fullAt = min(max(fullAt, now) + rate.share * events, max(fullAt, now + rate.capacity * 2))
    }

    /// Takes events for failed requests from the bucket, but leaves at least half of its capacity.
    mutating func charge(_ events: Int, of rate: EventRate, now: NIODeadline) {
        guard rate.perMinute > 0 else { return }
        let level = max(fullAt, now)
        fullAt = max(level, min(level + rate.share * events, now + rate.failureCapacity))
    }
}
