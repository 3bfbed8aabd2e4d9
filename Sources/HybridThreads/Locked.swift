// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A value that one thread at a time can access.
///
/// This is the project's only lock. `Synchronization.Mutex` would do, but ThreadSanitizer does not see its locking on
/// Linux and reports races where there are none.
package struct Locked<Value: Sendable>: Sendable {
    private let storage: Storage

    /// Creates an unlocked value.
    package init(_ value: Value) { storage = Storage(value) }

    /// Calls `body` with exclusive access to the value.
    ///
    /// `body` must not block and must not lock the same value again.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(storage.mutex)
        defer { pthread_mutex_unlock(storage.mutex) }
        return try body(&storage.value)
    }

    // SAFETY of @unchecked: `value` is accessed only while `mutex` is held.
    private final class Storage: @unchecked Sendable {
        var value: Value
        let mutex: UnsafeMutablePointer<pthread_mutex_t>

        init(_ value: Value) {
            self.value = value
            mutex = .allocate(capacity: 1)
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }
    }
}
