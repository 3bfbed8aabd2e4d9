// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridCommandSupport
internal import HybridPrimitives

/// The Unix socket on which the agent listens.
package struct AgentSocket: Sendable {
    /// The open descriptor.
    package let descriptor: CInt
    /// The path that ``remove()`` deletes; `nil` for a socket of the service manager.
    private let path: String?
    /// The inode of the path, by which ``remove()`` recognizes its own socket.
    private let inode: UInt

    /// Takes a listening socket of the service manager.
    package init(inherited descriptor: CInt) {
        self.descriptor = descriptor
        path = nil
        inode = 0
    }

    /// Creates a socket that only this user can connect to.
    ///
    /// A socket that an ended process has left behind is replaced.
    ///
    /// - Throws: ``CommandFailure`` if the path is too long or in use, or the socket can't be created.
    package init(path: String) throws(CommandFailure) {
        guard var address = UnixAddress(path: path) else {
            throw CommandFailure("\(path): a socket's path has 1 to \(UnixAddress.maximumPath) bytes", status: .usage)
        }
        let descriptor = try Self.makeSocket()
        if try Self.isAnswered(address) {
            close(descriptor)
            throw CommandFailure(
                "\(path): another agent uses this socket; name another: --socket",
                status: .unavailable
            )
        }
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { unlink(path) }
        // Nothing can connect before listen(2), so the mode is set in time.
        let isListening =
            address.withAddress { bind(descriptor, $0, $1) } == 0 && chmod(path, 0o600) == 0
            && listen(descriptor, 64) == 0
        guard isListening else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw CommandFailure("\(path) can't be created: \(reason); name another: --socket", status: .unavailable)
        }
        self.descriptor = descriptor
        self.path = path
        inode = lstat(path, &status) == 0 ? status.st_ino : 0
    }

    /// Closes the socket and deletes its path, unless another socket has taken it: the service manager replaces files.
    package func remove() {
        var status = stat()
        // The inode stays in use until the socket is closed.
        if let path, lstat(path, &status) == 0, status.st_ino == inode { unlink(path) }
        close(descriptor)
    }

    /// Returns true if a process uses an address.
    private static func isAnswered(_ address: UnixAddress) throws(CommandFailure) -> Bool {
        let descriptor = try makeSocket()
        defer { close(descriptor) }
        var address = address
        // A socket of another type is that of another program, such as a service manager's for datagrams.
        return address.withAddress { connect(descriptor, $0, $1) } == 0 || errno == EPROTOTYPE
    }

    private static func makeSocket() throws(CommandFailure) -> CInt {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw CommandFailure("no file descriptors left", status: .unavailable) }
        return descriptor
    }

    /// Returns true if a path leads to this socket.
    package func isReached(by path: String) -> Bool {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size - 1)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard code == 0 else { return false }
        let own = withUnsafeBytes(of: address.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        var (one, other) = (stat(), stat())
        return stat(own, &one) == 0 && stat(path, &other) == 0 && one.st_dev == other.st_dev
            && one.st_ino == other.st_ino
    }
}
