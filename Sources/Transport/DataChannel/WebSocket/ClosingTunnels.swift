// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// Tunnels that are closed in the background, because their sessions are over.
///
/// An orderly close takes round trips to the relay, and the result of a session need not wait for it. A program calls
/// ``finish()`` before it exits, so that the last message is not lost.
public final class ClosingTunnels: Sendable {
    private let count = AwaitableState(0)

    /// Creates an empty set.
    public init() {}

    /// Waits until all tunnels are closed, or until the task is canceled.
    ///
    /// A relay that does not answer the close frame delays this by two seconds.
    public func finish() async {
        while count.read({ $0 }) > 0, !Task.isCancelled { await count.wait { $0 == 0 } }
    }

    /// Starts to close a tunnel.
    func add(_ close: @escaping @Sendable () async -> Void) {
        count.change { $0 += 1 }
        Task {
            await close()
            count.change { $0 -= 1 }
        }
    }
}
