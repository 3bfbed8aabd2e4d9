// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport

/// A connection to another SSH agent, which holds further keys.
///
/// Each client has a connection of its own, so that the other agent sees the bindings of this client only. It is opened
/// for the first request and closed if the other agent does not answer.
final class UpstreamAgent {
    /// Seconds for an answer to a request for which the other agent may ask its user.
    private static let timeout = 300
    /// Seconds for the list of keys and for bindings, which need no user, and for the rest of an answer that has begun.
    private static let quickTimeout = 5

    private let path: String
    private var socket: CInt = -1
    private var isUsable = true

    /// Creates a connection that is not open yet.
    init(path: String) { self.path = path }

    deinit { close() }

    /// Sends a message and returns the answer, both with their length fields; `nil` if there is none.
    ///
    /// If the client leaves, the connection is closed, so that the other agent can take its prompt down.
    func ask(_ message: [UInt8], for client: CInt) -> [UInt8]? {
        guard isUsable else { return nil }
        if socket < 0 { socket = Self.connect(to: path) }
        guard socket >= 0, UpstreamBytes.send(message, to: socket), awaitAnswer(to: message, for: client),
            let header = read(4)
        else {
            close()
            return nil
        }
        let length = header.reduce(0) { $0 << 8 | Int($1) }
        guard (1...UpstreamFrames.maximumLength).contains(length), let body = read(length) else {
            close()
            return nil
        }
        return header + body
    }

    /// Closes the connection for good.
    func close() {
        if socket >= 0 { Glibc.close(socket) }
        (socket, isUsable) = (-1, false)
    }

    /// Waits for an answer; returns false at the time limit, or if the client leaves.
    private func awaitAnswer(to message: [UInt8], for client: CInt) -> Bool {
        let seconds = UpstreamFrames.mayAskUser(message) ? Self.timeout : Self.quickTimeout
        // poll(2) always reports the end of a connection.
        var polled = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0), pollfd(fd: client, events: 0, revents: 0),
        ]
        while true {
            let count = poll(&polled, nfds_t(polled.count), CInt(seconds * 1000))
            if count < 0, errno == EINTR { continue }
            return count > 0 && polled[1].revents == 0
        }
    }

    private func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return recv(socket, &bytes, count, CInt(MSG_WAITALL)) == count ? bytes : nil
    }

    private static func connect(to path: String) -> CInt {
        guard var address = UnixAddress(path: path) else { return -1 }
        let descriptor = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return -1 }
        var limit = timeval(tv_sec: quickTimeout, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard address.withAddress({ Glibc.connect(descriptor, $0, $1) }) == 0 else {
            Glibc.close(descriptor)
            return -1
        }
        return descriptor
    }
}

/// Bytes on a socket.
enum UpstreamBytes {
    /// Sends all bytes; returns false if the peer does not read them in time.
    static func send(_ bytes: [UInt8], to socket: CInt) -> Bool {
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
