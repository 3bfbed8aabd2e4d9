// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore

/// A socket that somebody else has bound.
enum BoundSocket {
    /// Where it listens; `nil` for anything but IPv4 and IPv6, which no network reaches.
    static func address(of descriptor: Int32) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard getsockname(descriptor, address, &length) == 0 else { return nil }
                switch Int32(address.pointee.sa_family) {
                case AF_INET:
                    return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { SocketAddress($0.pointee) }
                case AF_INET6:
                    return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee) }
                default: return nil
                }
            }
        }
    }
}
