// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A thread for work that blocks or computes for long, so that none of the few that run tasks is held up.
///
/// Each call starts one and leaves it to itself: it ends with its work, which nothing interrupts, cancellation least of
/// all. Who wants to end work early gives it something to look at or to wait for, such as a flag or a descriptor. The
/// thread is an ordinary one, with the system's stack (8 MiB as a rule) and the signal mask of the thread that starts it.
public enum DedicatedThread {
    /// Starts `body` on a thread and does not wait for it.
    ///
    /// - Returns: `false` if there is no thread to be had; `body` is dropped then.
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

    /// Starts `body` on a thread and does not wait for it; if there is no thread to be had, it runs here.
    ///
    /// To block a shared thread is better than not to do it at all.
    public static func startOrRunHere(_ body: @escaping @Sendable () -> Void) {
        if !start(body) { body() }
    }

    /// Runs `body` on a thread to its end, also when the calling task is cancelled.
    ///
    /// If there is no thread to be had, it runs here: late is better than never.
    ///
    /// - Throws: What `body` throws.
    public static func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            startOrRunHere { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }

    /// Runs `body` on a thread to its end, also when the calling task is cancelled; for what must not block here, ever.
    ///
    /// - Returns: What `body` returns, or `fallback` if there is no thread to be had.
    public static func run<Value: Sendable>(
        otherwise fallback: Value,
        _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            let isStarted = start { continuation.resume(returning: body()) }
            if !isStarted { continuation.resume(returning: fallback) }
        }
    }

    /// Carries a closure through `pthread_create`.
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
