// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A socket at which no connection is accepted, on a port of 127.0.0.1 or at a path.
package final class UnresponsiveSocket: Sendable {
    /// A call that failed.
    package struct Failed: Error {
        /// The system's error number.
        package let errorNumber: Int32
    }

    private let descriptor: Int32

    /// The port, 0 for a socket at a path.
    package let port: Int

    /// Creates a socket on a port that the system chooses.
    ///
    /// - Parameter isListening: If false, connections are refused, and no other program gets the port.
    package init(isListening: Bool = true) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && (!isListening || listen(descriptor, 64) == 0)
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isBound else { throw Failed(errorNumber: errno) }
    }

    /// Creates a socket at a path.
    package init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        port = 0
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            guard path.utf8.count < bytes.count else { return false }
            bytes.copyBytes(from: path.utf8)
            return true
        }
        let isBound = withUnsafePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(descriptor, 64) == 0
            }
        }
        guard fits && isBound else { throw Failed(errorNumber: errno) }
    }

    deinit { close(descriptor) }
}
