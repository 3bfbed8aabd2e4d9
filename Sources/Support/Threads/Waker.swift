// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A descriptor that wakes a thread from `poll`.
package final class Waker: Sendable {
    /// The descriptor to poll.
    ///
    /// It becomes readable with `wake` and stays so until `reset`.
    package let descriptor: CInt
    private let other: CInt

    /// Creates a waker, or returns `nil` if the process has no descriptors left.
    package init?() {
        guard let pair = SocketPair.make() else { return nil }
        (descriptor, other) = pair
    }

    deinit {
        close(descriptor)
        close(other)
    }

    /// Makes the descriptor readable.
    package func wake() {
        // If the buffer is full, the descriptor is readable already.
        _ = send(other, [1 as UInt8], 1, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
    }

    /// Makes the descriptor unreadable until the next `wake`.
    package func reset() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT)) == bytes.count {}
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
