// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads
package import NIOCore

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

/// Threads for name lookups, with a bounded queue.
///
/// getaddrinfo(3) cannot be interrupted. It takes up to half a minute if the server of a name is silent, and anybody can
/// own such a name. So lookups share no threads with other work. Those of one party, and those that can be deferred, do
/// not take all threads. A lookup that nobody waits for any more is not started, and a full queue refuses at once.
///
/// A thread ends when there is no lookup for it.
package final class LookupThreads: Sendable {
    /// The threads of this process.
    package static let shared = LookupThreads(threads: 32, waiting: 256)

    /// Maximum number of threads that one party's lookups use at a time.
    static let maximumPerParty = 2
    /// Maximum number of waiting lookups of one party.
    static let maximumWaitingPerParty = 16

    /// No lookup was started, because too many wait.
    package struct Busy: Error {}

    fileprivate struct Job: Sendable {
        let share: LookupShare
        let isWanted: @Sendable () -> Bool
        let run: @Sendable () -> Void
        let skip: @Sendable (any Error) -> Void
    }

    fileprivate struct State {
        var running = 0
        var deferrable = 0
        var parties: [Int: Int] = [:]
        var waiting: [Job] = []
    }

    private let threads: Int
    private let maximumWaiting: Int
    private let state = Locked(State())

    /// Creates a group of at most `threads` threads, for which at most `waiting` lookups wait.
    package init(threads: Int, waiting: Int) { (self.threads, maximumWaiting) = (threads, waiting) }

    /// Number of lookups that wait for a thread.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Performs a lookup on one of the threads.
    ///
    /// The result fails with ``Busy`` if the queue is full, and with `CancellationError` if nobody wanted the lookup when
    /// its turn came.
    package func run<Value: Sendable>(
        on loop: any EventLoop,
        _ share: LookupShare,
        isWanted: @escaping @Sendable () -> Bool,
        _ lookup: @escaping @Sendable () throws -> Value
    ) -> EventLoopFuture<Value> {
        let promise = loop.makePromise(of: Value.self)
        let job = Job(
            share: share,
            isWanted: isWanted,
            run: { promise.completeWith(Result(catching: lookup)) },
            skip: { promise.fail($0) }
        )
        let (skipped, isQueued, first) = state.withLock { state in
            let skipped = state.waiting.count < maximumWaiting ? [] : state.dropUnwanted()
            let isQueued = state.waiting.count < maximumWaiting && state.hasPlace(for: share)
            if isQueued { state.waiting.append(job) }
            return (skipped, isQueued, state.running < threads ? state.next(of: threads) : nil)
        }
        for job in skipped { job.skip(CancellationError()) }
        if !isQueued { promise.fail(Busy()) }
        if let first { start(first) }
        return promise.futureResult
    }

    private func start(_ first: Job) {
        let isStarted = DedicatedThread.start {
            var next: Job? = first
            while let job = next {
                if job.isWanted() { job.run() } else { job.skip(CancellationError()) }
                next = self.state.withLock { state in
                    state.end(job)
                    return state.next(of: self.threads)
                }
            }
        }
        guard !isStarted else { return }
        state.withLock { $0.end(first) }
        first.skip(Busy())
    }
}

extension LookupThreads.State {
    /// Removes and returns the waiting lookups that nobody wants any more.
    fileprivate mutating func dropUnwanted() -> [LookupThreads.Job] {
        let verdicts = waiting.map { ($0, $0.isWanted()) }
        waiting = verdicts.filter(\.1).map(\.0)
        return verdicts.filter { !$0.1 }.map(\.0)
    }

    /// Returns true if a party's lookup may wait.
    fileprivate func hasPlace(for share: LookupShare) -> Bool {
        guard let party = share.party else { return true }
        return waiting.count { $0.share.party == party } < LookupThreads.maximumWaitingPerParty
    }

    /// Takes the first lookup that may have a thread from the queue, and counts it.
    fileprivate mutating func next(of threads: Int) -> LookupThreads.Job? {
        let index = waiting.firstIndex { job in
            (!job.share.isDeferrable || deferrable < max(1, threads / 2))
                && (job.share.party.map { parties[$0, default: 0] < LookupThreads.maximumPerParty } ?? true)
        }
        guard let index else { return nil }
        let job = waiting.remove(at: index)
        running += 1
        if job.share.isDeferrable { deferrable += 1 }
        if let party = job.share.party { parties[party, default: 0] += 1 }
        return job
    }

    /// Stops counting a lookup that has a thread.
    fileprivate mutating func end(_ job: LookupThreads.Job) {
        running -= 1
        if job.share.isDeferrable { deferrable -= 1 }
        guard let party = job.share.party, let count = parties[party] else { return }
        parties[party] = count > 1 ? count - 1 : nil
    }
}
