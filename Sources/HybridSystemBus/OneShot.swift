// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// A value that is set once and that any number of tasks can wait for.
package final class OneShot<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [Int: CheckedContinuation<Value?, Never>] = [:]
        var nextWaiter = 0
    }

    private let state = Locked(State())

    /// Creates an instance without a value.
    package init() {}

    /// Sets the value and resumes all waiting tasks.
    ///
    /// Only the first call has an effect.
    @discardableResult
    package func set(_ value: Value) -> Bool {
        let waiters: [CheckedContinuation<Value?, Never>]? = state.withLock { state in
            guard state.value == nil else { return nil }
            state.value = value
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters ?? [] {
            waiter.resume(returning: value)
        }
        return waiters != nil
    }

    /// The value, if it has been set.
    package var current: Value? {
        state.withLock { $0.value }
    }

    /// Waits for the value.
    ///
    /// Returns `nil` if the waiting task is cancelled first.
    package func wait() async -> Value? {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await wait(id, unless: { Task.isCancelled })
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.resume(returning: nil)
        }
    }

    /// Waits for the value, even if the waiting task is cancelled.
    package func waitIgnoringCancellation() async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        _ = await wait(id, unless: { false })
    }

    private func wait(_ id: Int, unless isCancelled: () -> Bool) async -> Value? {
        await withCheckedContinuation { continuation in
            // Checked under the lock: a later cancellation finds the waiter.
            let result: Value?? = state.withLock { state in
                if let value = state.value { return .some(value) }
                if isCancelled() { return .some(nil) }
                state.waiters[id] = continuation
                return nil
            }
            if let result { continuation.resume(returning: result) }
        }
    }
}
