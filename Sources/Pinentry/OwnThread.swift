// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Runs a blocking conversation on a thread of its own, away from the few threads that asynchronous code shares.
enum OwnThread {
    /// Runs `body` to its end.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            let work = Work { continuation.resume(returning: body()) }
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
                // No thread to be had: blocking a shared one is better than not asking.
                argument.takeRetainedValue().body()
            }
        }
    }

    private final class Work {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }
}
