// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A file that is this process's for as long as this lives.
final class FileOwnership: Sendable {
    private let descriptor: Int32

    /// Takes the descriptor over.
    init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Locks it; `false` if another process has.
    ///
    /// File systems without locks let everybody.
    func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }
}
