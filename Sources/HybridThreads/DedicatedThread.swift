// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A thread for work that blocks or computes for long, so that it does not hold up the few threads that run tasks.
///
/// Each call starts a thread, which ends with its work. Nothing interrupts the work, not even cancellation: a caller
/// that wants to stop it early gives it a flag to check or a descriptor to poll. The thread has the system's default
/// stack size (usually 8 MiB) and the signal mask of the thread that starts it.
public enum DedicatedThread {
    /// Starts `body` on a thread and does not wait for it.
    ///
    /// - Returns: False if no thread can be created. `body` is dropped then.
    public static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
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

    /// Starts `body` on a thread and does not wait for it.
    ///
    /// If no thread can be created, runs `body` on the current one: to block a shared thread is better than to drop the
    /// work.
    public static func startOrRunHere(_ body: @escaping @Sendable () -> Void) {
        if !start(body) { body() }
    }

    /// Runs `body` on a thread to completion, even if the calling task is cancelled.
    ///
    /// If no thread can be created, runs `body` on the current one.
    ///
    /// - Throws: The error that `body` throws.
    public static func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            startOrRunHere { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }

    /// Runs `body` on a thread to completion, even if the calling task is cancelled.
    ///
    /// For work that must never block the current thread.
    ///
    /// - Returns: The result of `body`, or `fallback` if no thread can be created.
    public static func run<Value: Sendable>(
        otherwise fallback: Value,
        _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            let isStarted = start { continuation.resume(returning: body()) }
            if !isStarted { continuation.resume(returning: fallback) }
        }
    }

    /// A closure on its way through `pthread_create`.
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
