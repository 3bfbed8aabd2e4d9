// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridThreads
import Synchronization
import Testing

@Suite("A thread of its own", .timeLimit(.minutes(10)))
struct DedicatedThreadTests {
    private enum Refusal: Error, Equatable { case refused(Int) }

    /// A place where threads wait for each other.
    private final class Meeting: Sendable {
        private let present = Atomic<Int>(0)
        private let expected: Int

        init(of expected: Int) { self.expected = expected }

        /// Blocks the thread until all have come; `false` if they do not come.
        func join() -> Bool {
            present.add(1, ordering: .sequentiallyConsistent)
            let deadline = ContinuousClock.now + .seconds(60)
            while present.load(ordering: .sequentiallyConsistent) < expected {
                guard .now < deadline else { return false }
                usleep(1000)
            }
            return true
        }
    }

    /// Tells when it is released.
    private final class Held: Sendable {
        private let released: AsyncStream<Void>.Continuation

        init(_ released: AsyncStream<Void>.Continuation) { self.released = released }

        deinit { released.yield() }

        func touch() -> Int { 7 }
    }

    @Test("gives the result back, and throws what the work throws, with its type")
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

    @Test("is not one of those that tasks share, in none of the four ways")
    func blocking() async {
        // More than there are shared threads, and none goes on before all are there.
        let each = max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 1) + 1
        let meeting = Meeting(of: 4 * each)
        let (met, continuation) = AsyncStream.makeStream(of: Bool.self)
        for _ in 0..<each {
            #expect(DedicatedThread.start { continuation.yield(meeting.join()) })
            DedicatedThread.startOrRunHere { continuation.yield(meeting.join()) }
            Task { continuation.yield(await DedicatedThread.run { meeting.join() }) }
            Task { continuation.yield(await DedicatedThread.run(otherwise: false) { meeting.join() }) }
        }
        var results: [Bool] = []
        for await result in met {
            results.append(result)
            if results.count == 4 * each { break }
        }
        #expect(results.allSatisfy { $0 })
    }

    @Test("ends its work also when the task is cancelled")
    func cancellation() async {
        let meeting = Meeting(of: 2)
        let task = Task { await DedicatedThread.run { meeting.join() } }
        task.cancel()
        #expect(await DedicatedThread.run { meeting.join() })
        #expect(await task.value)
    }

    @Test("keeps nothing of what its work held")
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
