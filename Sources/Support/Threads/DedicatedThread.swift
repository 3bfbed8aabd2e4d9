// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A thread for work that blocks or computes for a long time and would hold up the few threads that run tasks.
///
/// Each call starts a thread, which ends when its work is done. Nothing interrupts the work, not even cancellation. If
/// a caller may want to stop it early, the work needs a flag to check or a descriptor to poll. The thread has the
/// system's default stack size (usually 8 MiB) and the signal mask of the thread that starts it.
package enum DedicatedThread {
    /// Starts `body` on a new thread and does not wait for it.
    ///
    /// - Returns: False if no thread can be created. In that case, `body` is not called.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            nil,
            { argument in
                if let argument { Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            },
            work.toOpaque()
        )
        guard code == 0 else {
            work.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    /// Starts `body` on a new thread and does not wait for it.
    ///
    /// If no thread can be created, `body` runs on the current one, because blocking a shared thread is better than not
    /// doing the work.
    package static func startOrRunHere(_ body: @escaping @Sendable () -> Void) {
        if !start(body) { body() }
    }

    /// Runs `body` to completion on a new thread, even if the calling task is canceled.
    ///
    /// If no thread can be created, `body` runs on the current one.
    ///
    /// - Throws: The error that `body` throws.
    package static func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            startOrRunHere { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }

    /// Runs `body` to completion on a new thread, even if the calling task is canceled.
    ///
    /// For work that must never block the current thread.
    ///
    /// - Returns: The result of `body`, or `fallback` if no thread can be created.
    package static func run<Value: Sendable>(
        otherwise fallback: Value,
        _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            let isStarted = start { continuation.resume(returning: body()) }
            if !isStarted { continuation.resume(returning: fallback) }
        }
    }

    /// A closure in an object, which `pthread_create` can pass to the thread as a pointer.
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
