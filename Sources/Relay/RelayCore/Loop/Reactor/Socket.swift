// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Non-blocking calls on a connection's socket.
enum Socket {
    /// The result of a read.
    enum Received {
        case bytes(Int)
        /// Nothing has arrived.
        case nothing
        /// The peer has closed its side of the connection.
        case end
        case failed
    }

    /// Reads bytes that have arrived.
    static func receive(_ descriptor: CInt, into target: UnsafeMutableRawBufferPointer) -> Received {
        let count = recv(descriptor, target.baseAddress, target.count, 0)
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        return errno == EAGAIN || errno == EINTR ? .nothing : .failed
    }

    /// Writes as many bytes as the socket takes, maybe none; `nil` if the connection has failed.
    ///
    /// With `isContinued`, the kernel holds back an incomplete packet for the next write or the end of the output, for
    /// 200 ms at most.
    static func send(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt, isContinued: Bool) -> Int? {
        // Without MSG_NOSIGNAL, a peer that has left would end the process with SIGPIPE.
        let flags = CInt(MSG_NOSIGNAL) | (isContinued ? CInt(MSG_MORE) : 0)
        let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
        if count >= 0 { return count }
        return errno == EAGAIN || errno == EINTR ? 0 : nil
    }
}

/// The reason why a connection cannot continue.
enum ConnectionFailure: Error {
    /// The socket has failed or the peer has reset it.
    case socket
    /// The peer violated TLS, or the handshake found nothing in common.
    case tls
    /// There is no memory for a TLS session.
    case memory
}
