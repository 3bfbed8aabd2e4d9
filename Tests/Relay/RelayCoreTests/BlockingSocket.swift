// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridThreads
import NIOCore

/// A stream socket with blocking calls, for tests that decide when each byte is sent and read.
///
/// Calls that wait must not be used on the threads that run tasks; they fail after a minute.
final class BlockingSocket: Sendable {
    /// A call that failed, with the system's error number.
    struct Failed: Error, Equatable {
        let what: String
        let number: CInt
    }

    let descriptor: CInt
    private let isClosed = Locked(false)

    init(_ descriptor: CInt) throws {
        self.descriptor = descriptor
        guard descriptor >= 0 else { throw Failed(what: "socket", number: errno) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    /// Connects by TCP.
    static func connected(to address: SocketAddress) throws -> BlockingSocket {
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let socket = try BlockingSocket(Glibc.socket(address.protocol == .inet6 ? AF_INET6 : AF_INET, kind, 0))
        var one: CInt = 1
        setsockopt(socket.descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
        let result = address.withSockAddr { Glibc.connect(socket.descriptor, $0, socklen_t($1)) }
        guard result == 0 else { throw Failed(what: "connect", number: errno) }
        return socket
    }

    /// Returns a connected pair: this end, and the descriptor of the other, which does not block.
    static func pair() throws -> (near: BlockingSocket, far: CInt) {
        var ends: (CInt, CInt) = (-1, -1)
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let result = withUnsafeMutableBytes(of: &ends) {
            socketpair(AF_UNIX, kind, 0, $0.baseAddress?.assumingMemoryBound(to: CInt.self))
        }
        guard result == 0 else { throw Failed(what: "socketpair", number: errno) }
        _ = fcntl(ends.1, F_SETFL, O_NONBLOCK)
        return (try BlockingSocket(ends.0), ends.1)
    }

    /// Sends all bytes.
    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count { sent += try send(bytes[sent...], flags: 0) ?? 0 }
    }

    /// Sends as many bytes as the kernel accepts without waiting, and returns their number.
    func sendSome(_ bytes: [UInt8]) throws -> Int {
        var sent = 0
        while sent < bytes.count, let count = try send(bytes[sent...], flags: CInt(MSG_DONTWAIT)) {
            sent += count
        }
        return sent
    }

    /// Returns the number of bytes sent by one call, or `nil` if the kernel accepts none.
    private func send(_ bytes: ArraySlice<UInt8>, flags: CInt) throws -> Int? {
        let count = bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, flags | CInt(MSG_NOSIGNAL))
        }
        if count >= 0 { return count }
        guard errno == EAGAIN, flags != 0 else { throw Failed(what: "send", number: errno) }
        return nil
    }

    /// Returns the next bytes; empty after the end.
    func receive() throws -> [UInt8] {
        guard let bytes = try receive(flags: 0) else { throw Failed(what: "nothing was received", number: EAGAIN) }
        return bytes
    }

    /// Returns the bytes that have arrived; `nil` if there are none, empty after the end.
    func receiveSome() throws -> [UInt8]? { try receive(flags: CInt(MSG_DONTWAIT)) }

    private func receive(flags: CInt) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &bytes, bytes.count, flags)
        if count >= 0 { return Array(bytes.prefix(count)) }
        guard errno == EAGAIN else { throw Failed(what: "recv", number: errno) }
        return nil
    }

    /// Closes the socket; nothing else may be called afterwards.
    func close() {
        let wasClosed = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return isClosed
        }
        guard !wasClosed else { return }
        // A child process of another test may still have a copy of the descriptor.
        shutdown(descriptor, CInt(SHUT_RDWR))
        Glibc.close(descriptor)
    }

    /// Sends FIN; input can still be received.
    func shutDownOutput() { shutdown(descriptor, CInt(SHUT_WR)) }
}
