// SPDX-License-Identifier: Apache-2.0

/// Lock-protected state whose changes tasks can await.
///
/// A change only wakes the waiting tasks, which then read the state themselves. So all data is passed under the lock,
/// and cancellation loses none of it.
package final class AwaitableState<State: Sendable>: Sendable {
    private struct Guarded {
        var state: State
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextID = 0
    }

    private let guarded: Locked<Guarded>

    /// Creates an instance with an initial state.
    package init(_ state: State) { guarded = Locked(Guarded(state: state)) }

    /// Reads the state.
    package func read<Result>(_ body: (State) -> Result) -> Result {
        guarded.withLock { body($0.state) }
    }

    /// Changes the state and wakes all waiting tasks.
    package func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, waiting) = guarded.withLock { guarded in
            let result = body(&guarded.state)
            defer { guarded.waiting = [:] }
            return (result, guarded.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
        return result
    }

    /// Waits for a change or for cancellation; returns immediately if `isReady` already returns true.
    ///
    /// Any change ends the wait, so callers check the state again.
    package func wait(unless isReady: @Sendable (State) -> Bool) async {
        let id = guarded.withLock { guarded in
            guarded.nextID += 1
            return guarded.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isAwake = guarded.withLock { guarded in
                    if Task.isCancelled || isReady(guarded.state) { return true }
                    guarded.waiting[id] = continuation
                    return false
                }
                if isAwake { continuation.resume() }
            }
        } onCancel: {
            let waiting = guarded.withLock { $0.waiting.removeValue(forKey: id) }
            waiting?.resume()
        }
    }
}
