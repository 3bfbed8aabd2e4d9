// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A descriptor that wakes a thread from `poll`.
package final class Waker: Sendable {
    /// The descriptor to poll. It is readable from `wake` until `reset`.
    package let descriptor: CInt

    /// Creates a waker, or returns `nil` if the process has no descriptors left.
    package init?() {
        descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Makes the descriptor readable.
    package func wake() { eventfd_write(descriptor, 1) }

    /// Makes the descriptor unreadable until the next `wake`.
    package func reset() {
        var count: eventfd_t = 0
        eventfd_read(descriptor, &count)
    }
}
