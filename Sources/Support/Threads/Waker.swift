// SPDX-License-Identifier: Apache-2.0

private import CHybridLinux
private import Glibc

/// A descriptor that wakes a thread from `poll`: an eventfd(2), which takes a single number of the process's.
package final class Waker: Sendable {
    /// The descriptor to poll.
    ///
    /// It becomes readable with `wake` and stays so until `reset`.
    package let descriptor: CInt

    /// Creates a waker, or returns `nil` if the process has no descriptors left.
    package init?() {
        descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Makes the descriptor readable.
    package func wake() {
        // It fails if the counter is full; then the descriptor is readable already.
        eventfd_write(descriptor, 1)
    }

    /// Blocks the calling thread until the descriptor is readable, and resets it.
    package func wait() {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&waiting, 1, -1) < 0, errno == EINTR {}
        reset()
    }

    /// Makes the descriptor unreadable until the next `wake`.
    package func reset() {
        var count: eventfd_t = 0
        eventfd_read(descriptor, &count)
    }
}

/// A pair of connected sockets that are close-on-exec.
package enum SocketPair {
    /// Returns the two ends, or `nil` if the process has no descriptors left.
    ///
    /// Unlike the ends of a pipe(2), they are close-on-exec from the start and can be written to without raising
    /// SIGPIPE.
    package static func make() -> (CInt, CInt)? {
        var pair: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else { return nil }
        return (pair[0], pair[1])
    }
}
