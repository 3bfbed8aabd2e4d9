// SPDX-License-Identifier: Apache-2.0

private import Glibc
private import Synchronization

/// Runs what blocks or computes for long on a thread of its own, away from the few that asynchronous code shares.
enum OwnThread {
    /// Starts `body` and does not wait for it.
    static func start(_ body: @escaping @Sendable () -> Void) {
        let argument = Unmanaged.passRetained(Work(body))
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
            // No thread to be had: blocking a shared one is better than not looking.
            argument.takeRetainedValue().body()
        }
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}

/// Tells a thread that nobody waits for it any more.
final class StopFlag: Sendable {
    private let value = Atomic<Bool>(false)

    var isRaised: Bool { value.load(ordering: .relaxed) }

    func raise() { value.store(true, ordering: .relaxed) }
}
