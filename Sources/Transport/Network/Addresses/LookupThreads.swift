// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads
package import NIOCore

/// Threads for name lookups, with a bounded queue.
///
/// getaddrinfo(3) cannot be interrupted. It takes up to half a minute if the server of a name is silent, and anybody can
/// own such a name. So lookups share no threads with other work, and ``LookupQueue`` divides the threads among parties. A
/// lookup whose caller has left is not started, and a full queue refuses new ones at once.
///
/// A thread ends when there is no lookup for it.
package final class LookupThreads: Sendable {
    /// The threads of this process.
    package static let shared = LookupThreads(threads: LookupQueue<Void>.threads, waiting: LookupQueue<Void>.waiting)

    /// No lookup was started, because too many wait.
    package struct Busy: Error {}

    fileprivate struct Job: Sendable {
        let share: LookupShare
        let isWanted: @Sendable () -> Bool
        let run: @Sendable () -> Void
        let skip: @Sendable (any Error) -> Void
    }

    private let queue: Locked<LookupQueue<Job>>

    /// Creates a group of at most `threads` threads, for which at most `waiting` lookups wait.
    package init(threads: Int, waiting: Int) { queue = Locked(LookupQueue(threads: threads, waiting: waiting)) }

    /// Number of lookups that wait for a thread.
    package var waitingCount: Int { queue.withLock { $0.waitingCount } }

    /// Performs a lookup on one of the threads.
    ///
    /// The result fails with ``Busy`` if the queue is full, and with `CancellationError` if the caller has left before
    /// the lookup's turn.
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
        let (skipped, isQueued, first) = queue.withLock { queue in
            let skipped = queue.isFull ? queue.remove { !$0.isWanted() } : []
            let isQueued = queue.add(job, share)
            return (skipped, isQueued, queue.next())
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
                next = self.queue.withLock { queue in
                    queue.end(job.share)
                    return queue.next()
                }
            }
        }
        guard !isStarted else { return }
        queue.withLock { $0.end(first.share) }
        first.skip(Busy())
    }
}
