// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore

/// Creation and settings of listening sockets.
enum ListeningSocket {
    /// Length of the kernel's queue of connections that are not yet accepted.
    private static let backlog: CInt = 4096
    /// Size of the kernel's buffer for one connection in each direction, in bytes.
    ///
    /// By default, the buffer holds megabytes if the connection is not read. All of it is read at once when the end
    /// closes.
    private static let kernelBuffer: CInt = 192 << 10

    /// Opens a socket that listens on an address.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - isIPv6Only: True if an IPv6 address must not serve IPv4, too, because an IPv4 address has the same port.
    static func open(_ address: SocketAddress, isIPv6Only: Bool) throws(IOError) -> CInt {
        let family =
            switch address {
            case .v4: AF_INET
            case .v6: AF_INET6
            case .unixDomainSocket: AF_UNIX
            }
        let type = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        if isIPv6Only { set(IPV6_V6ONLY, of: CInt(IPPROTO_IPV6), to: 1, on: descriptor) }
        configure(descriptor)
        let isBound = address.withSockAddr { bind(descriptor, $0, socklen_t($1)) == 0 }
        guard isBound, Glibc.listen(descriptor, backlog) == 0 else {
            let error = IOError(errnoCode: errno, reason: "bind")
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Configures a bound socket of a service manager and listens on it.
    static func listen(onInherited descriptor: CInt) throws(IOError) {
        configure(descriptor)
        guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0,
            Glibc.listen(descriptor, backlog) == 0
        else { throw IOError(errnoCode: errno, reason: "listen") }
    }

    /// Returns the address of a socket; `nil` if it is of another family than IP or unix.
    static func address(of descriptor: CInt) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? SocketAddress(storage) : nil
    }

    /// Sets the options of a listening socket.
    ///
    /// Accepted sockets inherit them on Linux. Setting one option on every connection would cost more than the whole
    /// upgrade. A unix socket has no TCP options, so failures are ignored.
    private static func configure(_ descriptor: CInt) {
        set(SO_REUSEADDR, of: SOL_SOCKET, to: 1, on: descriptor)
        set(SO_RCVBUF, of: SOL_SOCKET, to: kernelBuffer, on: descriptor)
        set(SO_SNDBUF, of: SOL_SOCKET, to: kernelBuffer, on: descriptor)
        set(TCP_NODELAY, of: CInt(IPPROTO_TCP), to: 1, on: descriptor)
    }

    private static func set(_ option: CInt, of level: CInt, to value: CInt, on descriptor: CInt) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }
}
