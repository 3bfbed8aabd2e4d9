// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Runs slow, blocking work on a thread of its own.
///
/// scrypt takes a third of a second and 128 MiB, and `fsync` may take longer; neither may stand in the way of
/// the few threads that all asynchronous code shares.
enum OwnThread {
    /// Runs `body` to its end, also when the calling task is cancelled.
    static func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            let work = Work { continuation.resume(returning: Result(catching: body)) }
            let argument = Unmanaged.passRetained(work)
            var thread = pthread_t()
            let code = pthread_create(
                &thread,
                nil,
                { argument in
                    guard let argument else { return nil }
                    Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                    return nil
                },
                argument.toOpaque()
            )
            if code == 0 {
                pthread_detach(thread)
            } else {
                // No thread to be had: slow is better than never.
                argument.takeRetainedValue().body()
            }
        }
        return try result.get()
    }

    private final class Work {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }
}
