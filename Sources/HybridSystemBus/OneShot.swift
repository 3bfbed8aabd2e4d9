// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// A value that is set once and waited for by any number of tasks.
package final class OneShot<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [Int: CheckedContinuation<Value?, Never>] = [:]
        var nextWaiter = 0
    }

    private let state = Locked(State())

    /// Starts without a value.
    package init() {}

    /// Sets the value and wakes all who wait; only the first call counts.
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

    /// Waits for the value; `nil` if the waiting task is cancelled first.
    package func wait() async -> Value? {
        let ticket = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await waitIgnoringCancellation(as: ticket, unless: { Task.isCancelled })
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: ticket) }
            waiter?.resume(returning: nil)
        }
    }

    /// Waits for the value, also in a task that is cancelled.
    package func waitWhateverHappens() async {
        let ticket = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        _ = await waitIgnoringCancellation(as: ticket, unless: { false })
    }

    private func waitIgnoringCancellation(as ticket: Int, unless isCancelled: () -> Bool) async -> Value? {
        await withCheckedContinuation { continuation in
            // The question is asked under the lock: a cancellation that comes later finds the waiter in the table.
            let answer: Value?? = state.withLock { state in
                if let value = state.value { return .some(value) }
                if isCancelled() { return .some(nil) }
                state.waiters[ticket] = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}
