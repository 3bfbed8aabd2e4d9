// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Keeps other processes, and other tasks of this one, away from the local state while it changes.
struct FileLock: ~Copyable {
    private let descriptor: Int32

    /// Takes the lock `name` in a directory by its path; `nil` when another holds it for thirty seconds.
    init?(directory: String, name: String) throws(FileFailure) {
        let file = open(directory + "/" + name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .current }
        for _ in 0..<3000 {
            if flock(file, LOCK_EX | LOCK_NB) == 0 {
                self.descriptor = file
                return
            }
            guard errno == EWOULDBLOCK || errno == EINTR else {
                // Not another program: a file system without locks, or worse.
                let failure = FileFailure.current
                close(file)
                throw failure
            }
            // flock can't wait for a limited time, so the thread (its own one) asks a hundred times a second.
            usleep(10000)
        }
        close(file)
        return nil
    }

    deinit { close(descriptor) }
}
