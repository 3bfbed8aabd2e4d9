// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// A value that is set once and that any number of tasks can wait for.
package final class OneShot<Value: Sendable>: Sendable {
    private let state = AwaitableState<Value?>(nil)

    /// Creates an instance without a value.
    package init() {}

    /// Sets the value and resumes all waiting tasks.
    ///
    /// Only the first call has an effect.
    ///
    /// - Returns: True if this was the first call.
    @discardableResult
    package func set(_ value: Value) -> Bool {
        state.change { current in
            guard current == nil else { return false }
            current = value
            return true
        }
    }

    /// The value, if it has been set.
    package var current: Value? {
        state.read { $0 }
    }

    /// Waits for the value.
    ///
    /// - Returns: `nil` if the waiting task is canceled first.
    package func wait() async -> Value? {
        await state.wait { $0 != nil }
        return current
    }

    /// Waits for the value, even if the waiting task is canceled.
    package func waitIgnoringCancellation() async {
        // An unstructured task is not canceled together with the current one.
        _ = await Task { await wait() }.value
    }
}
