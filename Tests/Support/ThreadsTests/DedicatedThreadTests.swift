// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridThreads
import Synchronization
import Testing

@Suite("A dedicated thread", .timeLimit(.minutes(10)))
struct DedicatedThreadTests {
    private enum Refusal: Error, Equatable { case refused(Int) }

    /// A barrier at which threads wait for each other.
    private final class Barrier: Sendable {
        private let arrived = Atomic<Int>(0)
        private let expected: Int

        init(of expected: Int) { self.expected = expected }

        /// Blocks the thread until all have arrived.
        ///
        /// Returns `false` if some do not arrive within a minute.
        func arrive() -> Bool {
            arrived.add(1, ordering: .sequentiallyConsistent)
            let deadline = ContinuousClock.now + .seconds(60)
            while arrived.load(ordering: .sequentiallyConsistent) < expected {
                guard .now < deadline else { return false }
                usleep(1000)
            }
            return true
        }
    }

    /// An object that reports its release.
    private final class Held: Sendable {
        private let released: AsyncStream<Void>.Continuation

        init(_ released: AsyncStream<Void>.Continuation) { self.released = released }

        deinit { released.yield() }

        func touch() -> Int { 7 }
    }

    @Test("returns the result of the work, or throws its typed error")
    func results() async {
        #expect(await DedicatedThread.run { 5 } == 5)
        #expect(await DedicatedThread.run(otherwise: 0) { 5 } == 5)
        let refused: Result<Int, Refusal>
        do throws(Refusal) {
            refused = .success(try await DedicatedThread.run { () throws(Refusal) -> Int in throw .refused(3) })
        } catch {
            refused = .failure(error)
        }
        #expect(refused == .failure(.refused(3)))
    }

    @Test("is none of the shared threads, whichever of the four methods starts it")
    func blocking() async {
        // More than there are shared threads; none continues before all have arrived.
        let each = max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 1) + 1
        let barrier = Barrier(of: 4 * each)
        let (arrivals, continuation) = AsyncStream.makeStream(of: Bool.self)
        for _ in 0..<each {
            #expect(DedicatedThread.start { continuation.yield(barrier.arrive()) })
            DedicatedThread.startOrRunHere { continuation.yield(barrier.arrive()) }
            Task { continuation.yield(await DedicatedThread.run { barrier.arrive() }) }
            Task { continuation.yield(await DedicatedThread.run(otherwise: false) { barrier.arrive() }) }
        }
        var results: [Bool] = []
        for await result in arrivals {
            results.append(result)
            if results.count == 4 * each { break }
        }
        #expect(results.allSatisfy { $0 })
    }

    @Test("completes its work even if the task is cancelled")
    func cancellation() async {
        let barrier = Barrier(of: 2)
        let task = Task { await DedicatedThread.run { barrier.arrive() } }
        task.cancel()
        #expect(await DedicatedThread.run { barrier.arrive() })
        #expect(await task.value)
    }

    @Test("releases what its work captured")
    func release() async {
        let (released, continuation) = AsyncStream.makeStream(of: Void.self)
        await work(continuation)
        var isReleased = false
        for await _ in released {
            isReleased = true
            break
        }
        #expect(isReleased)
    }

    private func work(_ continuation: AsyncStream<Void>.Continuation) async {
        let held = Held(continuation)
        #expect(await DedicatedThread.run { held.touch() } == 7)
    }
}
