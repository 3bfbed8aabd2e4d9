// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridThreads
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HybridNetwork

@Suite("Threads for name lookups", .timeLimit(.minutes(10)))
struct LookupThreadsTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    /// Lookups that last until the test ends them.
    private final class Silent: Sendable {
        let begun = Locked(0)
        let isOver = Locked(false)

        func lookUp() {
            begun.withLock { $0 += 1 }
            while !isOver.withLock({ $0 }) { usleep(1000) }
        }

        func waitForBegun(_ count: Int) async throws {
            try await Waiting.until("\(count) lookups") { self.begun.withLock { $0 } == count }
        }
    }

    private func start(
        _ silent: Silent,
        on threads: LookupThreads,
        _ share: LookupShare = .own,
        isWanted: @escaping @Sendable () -> Bool = { true }
    ) -> EventLoopFuture<Void> {
        threads.run(on: loop, share, isWanted: isWanted) { silent.lookUp() }
    }

    @Test("Lookups that can be deferred leave half of the threads to others")
    func deferrable() async throws {
        let (threads, silent) = (LookupThreads(threads: 4, waiting: 100), Silent())
        let deferred = (0..<20).map { _ in start(silent, on: threads, LookupShare(isDeferrable: true)) }
        try await silent.waitForBegun(2)
        #expect(try await threads.run(on: loop, .own, isWanted: { true }) { 7 }.get() == 7)
        #expect(silent.begun.withLock { $0 } == 2 && threads.waitingCount == 18)
        silent.isOver.withLock { $0 = true }
        for result in deferred { try await result.get() }
    }

    @Test("Silent names of one party leave the threads to others, and its queue is short")
    func parties() async throws {
        let (threads, silent) = (LookupThreads(threads: 4, waiting: 100), Silent())
        let started = (0..<30).map { _ in start(silent, on: threads, LookupShare(party: 1)) }
        try await silent.waitForBegun(LookupQueue<Void>.maximumPerParty)
        #expect(threads.waitingCount == LookupQueue<Void>.maximumWaitingPerParty)
        #expect(try await threads.run(on: loop, LookupShare(party: 2), isWanted: { true }) { 7 }.get() == 7)
        await #expect(throws: LookupThreads.Busy.self) { try await started[29].get() }
        silent.isOver.withLock { $0 = true }
        for result in started.prefix(18) { try await result.get() }
    }

    @Test("Forty parties, each with all the silent names that may wait, leave threads to others")
    func manyParties() {
        var queue = LookupQueue<Int>()
        for party in 0..<40 {
            for _ in 0..<LookupQueue<Int>.maximumWaitingPerParty { _ = queue.add(party, LookupShare(party: party)) }
            while queue.next() != nil {}
        }
        let isAdded = queue.add(40, LookupShare(party: 40))
        let next = queue.next()
        #expect(isAdded && next == 40)
    }

    @Test("A lookup whose caller leaves before its turn is not started, also if there is room for others")
    func left() async throws {
        let (threads, silent, isWanted) = (LookupThreads(threads: 1, waiting: 100), Silent(), Locked(true))
        let first = start(silent, on: threads)
        try await silent.waitForBegun(1)
        let second = start(silent, on: threads) { isWanted.withLock { $0 } }
        isWanted.withLock { $0 = false }
        silent.isOver.withLock { $0 = true }
        try await first.get()
        await #expect(throws: CancellationError.self) { try await second.get() }
        #expect(silent.begun.withLock { $0 } == 1)
    }

    @Test("A full queue refuses at once; lookups whose callers have left make room and are not started")
    func full() async throws {
        let (threads, silent, isWanted) = (LookupThreads(threads: 1, waiting: 2), Silent(), Locked(true))
        let first = start(silent, on: threads)
        try await silent.waitForBegun(1)
        let waiting = (0..<2).map { _ in start(silent, on: threads) { isWanted.withLock { $0 } } }
        await #expect(throws: LookupThreads.Busy.self) { try await start(silent, on: threads).get() }
        isWanted.withLock { $0 = false }
        let last = start(silent, on: threads)
        for result in waiting { await #expect(throws: CancellationError.self) { try await result.get() } }
        silent.isOver.withLock { $0 = true }
        try await first.get()
        try await last.get()
        #expect(silent.begun.withLock { $0 } == 2)
    }
}
