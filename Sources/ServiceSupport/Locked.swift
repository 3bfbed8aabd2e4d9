// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A value that one thread at a time may touch.
///
/// `Synchronization.Mutex` would do, but the thread sanitizer does not see its locking on Linux.
final class Locked<Value>: @unchecked Sendable {
    // SAFETY of @unchecked: `value` is only touched under `mutex`.
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

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

    func withValue<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
