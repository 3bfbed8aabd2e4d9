// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridThreads

/// A thread that starts others with the real-time priority of the service, and does nothing else.
///
/// Only the threads that read events need this priority. The service cannot return to it (`RestrictRealtime=`), so one
/// thread that keeps it starts them, and all others leave it.
final class PriorityThreads: Sendable {
    private struct Work: Sendable {
        let body: @Sendable () -> Void
        let otherwise: @Sendable () -> Void
    }

    private let work = Locked([Work]())
    private let waker: Waker

    /// Starts the thread; returns `nil` if the process has no descriptors or threads left.
    init?() {
        guard let waker = Waker() else { return nil }
        self.waker = waker
        let isStarted = DedicatedThread.start { [work] in
            var polled = pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)
            while true {
                _ = poll(&polled, 1, -1)
                waker.reset()
                let taken = work.withLock { work in
                    defer { work = [] }
                    return work
                }
                for one in taken where !DedicatedThread.start(one.body) { one.otherwise() }
            }
        }
        guard isStarted else { return nil }
    }

    /// Starts a thread with the priority.
    ///
    /// - Parameters:
    ///   - body: The work of the thread.
    ///   - otherwise: Called in place of `body` if no thread is left.
    func start(_ body: @escaping @Sendable () -> Void, otherwise: @escaping @Sendable () -> Void) {
        work.withLock { $0.append(Work(body: body, otherwise: otherwise)) }
        waker.wake()
    }

    /// Gives up the priority for the calling thread and all threads that it starts.
    static func leave() {
        var none = sched_param()
        sched_setscheduler(0, SCHED_OTHER, &none)
    }
}
