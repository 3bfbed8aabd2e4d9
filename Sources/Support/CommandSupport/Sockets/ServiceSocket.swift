// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridPrimitives
package import HybridProgram

/// The Unix socket on which the agent listens.
package struct ServiceSocket: Sendable {
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
    /// A socket that an ended process has left behind is replaced. Of two agents that start at the same time, one fails.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - option: The option that names the path, for messages.
    /// - Throws: ``CommandFailure`` if the path is too long or in use, or the socket can't be created.
    package init(path: String, option: String = "--socket") throws(CommandFailure) {
        try self.init(path: path, option: option, patience: AdvisoryLock.patience)
    }

    /// Creates a socket with another time for the lock of its folder.
    package init(path: String, option: String = "--socket", patience: Duration) throws(CommandFailure) {
        guard var address = UnixAddress(path: path) else {
            throw CommandFailure("\(path): a socket's path has 1 to \(UnixAddress.maximumPath) bytes", status: .usage)
        }
        // Another agent may stand between bind(2) and listen(2), when its socket looks like one left behind.
        let folder = try Self.lockFolder(of: path, within: patience)
        defer { close(folder) }
        if try Self.isAnswered(address) {
            throw CommandFailure(
                "\(path): another agent uses this socket; use a different one: \(option)",
                status: .unavailable
            )
        }
        let descriptor = try Self.makeSocket()
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { unlink(path) }
        // Nothing can connect before listen(2), so the mode is set in time.
        let isListening =
            address.withAddress { bind(descriptor, $0, $1) } == 0 && chmod(path, 0o600) == 0
            && listen(descriptor, 64) == 0
        guard isListening else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw CommandFailure(
                "\(path) can't be created: \(reason); use a different one: "
                    + "\(option)",
                status: .unavailable
            )
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

    /// Locks the folder of a path; returns a descriptor that holds the lock.
    private static func lockFolder(of path: String, within patience: Duration) throws(CommandFailure) -> CInt {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let code = descriptor < 0 ? errno : AdvisoryLock.take(descriptor, within: patience)
        guard code != 0 else { return descriptor }
        if descriptor >= 0 { close(descriptor) }
        let isKept = code == EWOULDBLOCK
        let reason = isKept ? "another program keeps a lock on its folder" : String(cString: strerror(code))
        throw CommandFailure("\(path) can't be created: \(reason)", status: .unavailable)
    }

    /// Returns true if a process uses an address.
    private static func isAnswered(_ address: UnixAddress) throws(CommandFailure) -> Bool {
        let descriptor = try makeSocket()
        defer { close(descriptor) }
        // A process that accepts no connections must not block this one.
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        var address = address
        // A socket of another type is that of another program, such as a service manager's for datagrams.
        return address.withAddress { connect(descriptor, $0, $1) } == 0 || errno == EPROTOTYPE || errno == EAGAIN
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
