// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridThreads

/// A thread of a camera, which others stop and whose end they wait for.
final class StoppableThread: Sendable {
    /// Wakes the thread, also when it is stopped.
    let waker: Waker
    private let ended: Waker
    private let state = Locked<(isStopped: Bool, identifier: pthread_t?)>((false, nil))

    /// Starts a thread; returns `nil` if the process has no threads or descriptors left.
    static func start(_ body: @escaping @Sendable (StoppableThread) -> Void) -> StoppableThread? {
        guard let waker = Waker(), let ended = Waker() else { return nil }
        let thread = StoppableThread(waker, ended)
        let isStarted = DedicatedThread.start {
            thread.state.withLock { $0.identifier = pthread_self() }
            body(thread)
            thread.ended.wake()
        }
        return isStarted ? thread : nil
    }

    private init(_ waker: Waker, _ ended: Waker) { (self.waker, self.ended) = (waker, ended) }

    /// True if the thread is to end.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Asks the thread to end, and does not wait for it.
    func requestStop() {
        state.withLock { $0.isStopped = true }
        waker.wake()
    }

    /// Ends the thread and waits for it, unless it is the calling one.
    func stop() {
        requestStop()
        guard state.withLock({ $0.identifier }) != pthread_self() else { return }
        ended.wait()
        // Others may wait, too.
        ended.wake()
    }
}
