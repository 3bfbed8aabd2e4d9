// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A value that is only reached with its mutex held.
///
/// A pthread mutex, because ThreadSanitizer on Linux understands it and does not understand
/// `Synchronization.Mutex`.
// @unchecked: `value` is read and written only between lock and unlock of `mutex`, and is itself Sendable.
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    /// Starts with `value`, unlocked.
    package init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` alone with the value; `body` must not block and must not come back here.
    package func with<R>(_ body: (inout Value) -> R) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}
