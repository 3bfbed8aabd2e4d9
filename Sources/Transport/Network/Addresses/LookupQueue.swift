// SPDX-License-Identifier: Apache-2.0

/// The part of the threads for name lookups that a lookup may use.
public struct LookupShare: Hashable, Sendable {
    /// Number of the party that caused the lookup, whose lookups may use only a few threads; `nil` if that does not
    /// matter.
    let party: Int?
    /// True for a lookup that must leave half of the threads to others.
    let isDeferrable: Bool

    /// The share of a lookup that the user or operator caused.
    public static let own = LookupShare()

    /// Creates a share; by default, the lookup may use any thread.
    public init(party: Int? = nil, isDeferrable: Bool = false) {
        (self.party, self.isDeferrable) = (party, isDeferrable)
    }
}

/// Name lookups that wait for a thread, and the numbers of those that have one: a pure state machine without threads.
///
/// Lookups that can be deferred take at most half of the threads, and those of one party two. Once more than half of the
/// threads are busy, each party gets only one, and once half of the queue is full, only one lookup of a party may wait.
/// So forty parties with silent names leave threads to others.
package struct LookupQueue<Job> {
    /// Number of threads of this process.
    package static var threads: Int { 128 }
    /// Number of lookups that may wait in this process.
    package static var waiting: Int { 256 }
    /// Maximum number of threads that one party's lookups use at a time.
    static var maximumPerParty: Int { 2 }
    /// Maximum number of waiting lookups of one party.
    static var maximumWaitingPerParty: Int { 16 }

    fileprivate struct Waiting {
        let job: Job
        let share: LookupShare
    }

    private let threads: Int
    private let maximumWaiting: Int
    private var running = 0
    private var deferrable = 0
    /// Number of running lookups by party.
    private var parties: [Int: Int] = [:]
    private var waiting: [Waiting] = []

    /// Creates a queue for at most `threads` threads, in which at most `waiting` lookups wait.
    package init(threads: Int = Self.threads, waiting: Int = Self.waiting) {
        (self.threads, maximumWaiting) = (threads, waiting)
    }

    /// Number of lookups that wait for a thread.
    package var waitingCount: Int { waiting.count }

    /// True if no further lookup may wait.
    package var isFull: Bool { waiting.count >= maximumWaiting }

    /// Adds a lookup; false if too many wait.
    package mutating func add(_ job: Job, _ share: LookupShare) -> Bool {
        guard !isFull else { return false }
        if let party = share.party {
            let most = waiting.count < maximumWaiting / 2 ? Self.maximumWaitingPerParty : 1
            guard waiting.count(where: { $0.share.party == party }) < most else { return false }
        }
        waiting.append(Waiting(job: job, share: share))
        return true
    }

    /// Removes and returns the waiting lookups that satisfy a condition.
    package mutating func remove(where condition: (Job) -> Bool) -> [Job] {
        let verdicts = waiting.map { ($0, condition($0.job)) }
        waiting = verdicts.filter { !$0.1 }.map(\.0)
        return verdicts.filter(\.1).map(\.0.job)
    }

    /// Takes the first lookup that may have a thread from the queue, and counts it; `nil` if there is none.
    package mutating func next() -> Job? {
        guard running < threads, let index = waiting.firstIndex(where: { mayRun($0.share) }) else { return nil }
        let next = waiting.remove(at: index)
        running += 1
        if next.share.isDeferrable { deferrable += 1 }
        if let party = next.share.party { parties[party, default: 0] += 1 }
        return next.job
    }

    private func mayRun(_ share: LookupShare) -> Bool {
        let half = max(1, threads / 2)
        guard !share.isDeferrable || deferrable < half else { return false }
        guard let party = share.party else { return true }
        let isCrowded = running >= half || share.isDeferrable && deferrable >= max(1, half / 2)
        return parties[party, default: 0] < (isCrowded ? 1 : Self.maximumPerParty)
    }

    /// Stops counting a lookup that has ended.
    package mutating func end(_ share: LookupShare) {
        running -= 1
        if share.isDeferrable { deferrable -= 1 }
        guard let party = share.party, let count = parties[party] else { return }
        parties[party] = count > 1 ? count - 1 : nil
    }
}

extension LookupQueue: Sendable where Job: Sendable {}
extension LookupQueue.Waiting: Sendable where Job: Sendable {}
