// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A thread for one call that blocks, so that none of the few threads that run tasks is held up.
enum BlockingThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Runs `body` on a thread of its own and waits for it; it is not interrupted by cancellation.
    static func run<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            let work = Unmanaged.passRetained(Work { continuation.resume(returning: body()) })
            var thread = pthread_t()
            let result = pthread_create(
                &thread,
                nil,
                { argument in
                    if let argument { Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body() }
                    return nil
                },
                work.toOpaque()
            )
            if result == 0 {
                pthread_detach(thread)
            } else {
                // No thread to be had: rather hold this one up than never come back.
                work.takeRetainedValue().body()
            }
        }
    }
}
