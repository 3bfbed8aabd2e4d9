// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridSSHAgent

/// A connection to an SSH agent on a Unix socket, for one request.
///
/// The end of the connection cancels the request, also if this process is killed.
struct AgentConversation: ~Copyable {
    private let socket: CInt
    /// Time for the agent to accept a connection and to read a request.
    private static let sendTimeout = 2

    /// Connects; returns `nil` if nothing listens there.
    init?(path: String) {
        guard var address = UnixAddress(path: path) else { return nil }
        let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        // Also the limit of connect(2), which waits while the agent accepts none.
        var timeout = timeval(tv_sec: Self.sendTimeout, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        guard address.withAddress({ connect(socket, $0, $1) }) == 0 else {
            close(socket)
            return nil
        }
        self.socket = socket
    }

    deinit { close(socket) }

    /// The result of a wait for an answer.
    enum Ending {
        /// The agent's message, without its length field.
        case message([UInt8])
        /// The agent has closed the connection or violated the protocol.
        case closed
        /// The caller has left.
        case cancelled
        /// The time limit has passed.
        case timedOut
    }

    /// Sends a request and waits for its answer.
    ///
    /// - Parameters:
    ///   - request: The request with its length field.
    ///   - canceller: A descriptor whose end cancels the request; -1 for none. Bytes that it yields do so, too.
    ///   - limit: The time limit for the answer.
    func answer(to request: [UInt8], unlessEnded canceller: CInt = -1, within limit: Duration) -> Ending {
        guard send(request) else { return .closed }
        let end = ContinuousClock.now + limit
        var received: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16384)
        while true {
            var polled = [socket, canceller].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let rest = max(0, Int((end - ContinuousClock.now) / .milliseconds(1)) + 1)
            let count = poll(&polled, nfds_t(polled.count), CInt(clamping: rest))
            if count < 0, errno == EINTR { continue }
            guard count > 0, ContinuousClock.now < end else { return .timedOut }
            guard polled[1].revents == 0 else { return .cancelled }
            let length = recv(socket, &chunk, chunk.count, 0)
            if length < 0, errno == EINTR { continue }
            guard length > 0 else { return .closed }
            received += chunk[..<length]
            guard received.count >= RemoteCarrier.headerLength else { continue }
            let header = Array(received.prefix(RemoteCarrier.headerLength))
            guard let expected = RemoteCarrier.length(header: header) else { return .closed }
            let contents = received.dropFirst(RemoteCarrier.headerLength)
            if contents.count == expected { return .message(Array(contents)) }
            guard contents.count < expected else { return .closed }
        }
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
