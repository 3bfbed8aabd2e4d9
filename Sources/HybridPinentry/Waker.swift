// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Tells a thread that waits in `poll` to give up.
final class Waker: Sendable {
    /// Becomes readable when woken.
    let descriptor: Int32
    private let other: Int32

    /// Makes one; `nil` when there are no descriptors left.
    init?() {
        guard let pair = SocketPair.make() else { return nil }
        (descriptor, other) = pair
    }

    deinit {
        close(descriptor)
        close(other)
    }

    /// Wakes the thread, now and for ever.
    func wake() { shutdown(other, Int32(SHUT_RDWR)) }
}

/// Two connected sockets that no other child inherits.
enum SocketPair {
    /// The two ends; `nil` when there are no descriptors left.
    static func make() -> (Int32, Int32)? {
        var pair: [Int32] = [-1, -1]
        // Sockets rather than pipes: they are made close-on-exec in one step, and writing to one whose reader
        // has gone can be told not to raise SIGPIPE.
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { return nil }
        return (pair[0], pair[1])
    }
}
