// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Locks of flock(2), which end with their descriptor.
package enum AdvisoryLock {
    /// Time for another holder to release a lock; each holds it only for a few system calls.
    package static let patience = Duration.seconds(5)

    /// Takes an exclusive lock.
    ///
    /// - Parameters:
    ///   - descriptor: An open file or folder.
    ///   - patience: The time for another holder to release the lock.
    /// - Returns: Zero, or the error number: `EWOULDBLOCK` if another holder keeps the lock.
    package static func take(_ descriptor: CInt, within patience: Duration) -> CInt {
        let end = ContinuousClock.now + patience
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            guard code == EWOULDBLOCK || code == EINTR, ContinuousClock.now < end else { return code }
            // flock(2) has no time limit.
            usleep(10000)
        }
        return 0
    }
}
