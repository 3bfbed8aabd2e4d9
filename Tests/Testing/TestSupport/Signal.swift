// SPDX-License-Identifier: Apache-2.0

/// An event that occurs once and can be awaited.
package struct Signal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    /// Creates a signal that has not occurred.
    package init() { (stream, continuation) = AsyncStream.makeStream() }

    /// Signals the event.
    package func fire() { continuation.finish() }

    /// Returns when the event occurs or the task is cancelled.
    package func wait() async { for await _ in stream {} }

    /// Returns when the task is cancelled.
    package static func cancellation() async {
        let never = Signal()
        await never.wait()
        withExtendedLifetime(never) {}
    }
}
