// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc

/// The loop that accepts connections on a Unix socket.
package enum AcceptLoop {
    /// Accepts connections until `stopper` is readable, or until there has been none for a time; blocks.
    ///
    /// A connection without credentials is closed. If the process has no descriptors or memory left, connections wait.
    ///
    /// - Parameters:
    ///   - listener: A listening socket.
    ///   - stopper: A descriptor that ends the loop when it is readable; -1 for none.
    ///   - flags: Flags of accept4(2) besides SOCK_CLOEXEC.
    ///   - idleLimit: The time without connections after which `isIdle` is called, in milliseconds; -1 for none.
    ///   - isIdle: Returns true if the loop ends then.
    ///   - accepted: Called with each connection, which it owns, and with the process at its other end.
    package static func run(
        on listener: CInt,
        until stopper: CInt = -1,
        flags: CInt = 0,
        idleLimit: CInt = -1,
        isIdle: () -> Bool = { true },
        _ accepted: (CInt, PeerCredentials) -> Void
    ) {
        var polled = [listener, stopper].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            let count = poll(&polled, nfds_t(polled.count), idleLimit)
            if count == 0, isIdle() { return }
            if count == 0 || count < 0 && errno == EINTR { continue }
            guard count > 0, polled[1].revents == 0 else { return }
            let descriptor = hybrid_accept(listener, nil, nil, flags | CInt(SOCK_CLOEXEC.rawValue))
            if descriptor >= 0 {
                if let peer = PeerCredentials(socket: descriptor) {
                    accepted(descriptor, peer)
                } else {
                    close(descriptor)
                }
            } else if [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno) {
                // Without descriptors or memory, poll(2) would return at once, again and again.
                usleep(100_000)
            }
        }
    }
}
