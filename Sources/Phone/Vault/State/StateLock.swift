// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Exclusive access to the local state for one task of one process.
struct StateLock: ~Copyable {
    private let descriptor: Int32

    /// Locks the file `name` in a directory; `nil` if another holder does not release the lock for 30 seconds.
    init?(directory: String, name: String) throws(FileError) {
        let file = open(directory + "/" + name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .current }
        for _ in 0..<3000 {
            if flock(file, LOCK_EX | LOCK_NB) == 0 {
                self.descriptor = file
                return
            }
            guard errno == EWOULDBLOCK || errno == EINTR else {
                // Not caused by another holder: for example, the file system has no locks.
                let failure = FileError.current
                close(file)
                throw failure
            }
            // flock has no timeout, so this dedicated thread polls a hundred times a second.
            usleep(10000)
        }
        close(file)
        return nil
    }

    deinit { close(descriptor) }
}
