// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// A value that only one thread at a time can access.
///
/// This is the project's only lock. `Synchronization.Mutex` would suffice, but ThreadSanitizer does not see its locking
/// on Linux and reports false races. All of this type is inlinable, because the relay locks on its hot path.
package struct Locked<Value: Sendable>: Sendable {
    @usableFromInline let storage: Storage

    /// Creates an unlocked value.
    @inlinable package init(_ value: Value) { storage = Storage(value) }

    /// Calls `body` with exclusive access to the value.
    ///
    /// `body` must not block and must not lock the same value again.
    @inlinable package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(storage.mutex)
        defer { pthread_mutex_unlock(storage.mutex) }
        return try body(&storage.value.pointee)
    }

    // SAFETY of @unchecked: both pointers are constant. The value is accessed only while the mutex is held, except in
    // `init` and `deinit`, when only one thread has a reference.
    @usableFromInline
    final class Storage: @unchecked Sendable {
        // A pointer, because Swift would check each access to a property for exclusivity, which the mutex guarantees.
        @usableFromInline let value: UnsafeMutablePointer<Value>
        @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

        @usableFromInline
        init(_ value: Value) {
            self.value = .allocate(capacity: 1)
            self.value.initialize(to: value)
            mutex = .allocate(capacity: 1)
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
            value.deinitialize(count: 1)
            value.deallocate()
        }
    }
}

extension Locked<Int> {
    /// Adds one, unless the number has reached a maximum; returns false in that case.
    package func increment(upTo maximum: Int) -> Bool {
        withLock { number in
            guard number < maximum else { return false }
            number += 1
            return true
        }
    }
}
