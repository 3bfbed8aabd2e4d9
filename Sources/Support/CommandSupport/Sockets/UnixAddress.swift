// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// The address of a Unix socket with a path.
package struct UnixAddress {
    /// Maximum length of a path in bytes.
    package static let maximumPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    private var address = sockaddr_un()

    /// Creates an address; returns `nil` if the path is empty or too long.
    package init?(path: String) {
        let bytes = Array(path.utf8)
        guard (1...Self.maximumPath).contains(bytes.count) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    }

    /// Calls `body` with the address and its length.
    package mutating func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
