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

    /// Takes a listening socket of the service manager.
    package init(inherited descriptor: CInt) {
        self.descriptor = descriptor
        path = nil
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
    }

    /// Closes the socket and deletes its path.
    package func remove() {
        if let path { unlink(path) }
        close(descriptor)
    }

    /// Returns true if a process listens at an address.
    private static func isAnswered(_ address: UnixAddress) throws(CommandFailure) -> Bool {
        let descriptor = try makeSocket()
        defer { close(descriptor) }
        var address = address
        return address.withAddress { connect(descriptor, $0, $1) } == 0
    }

    private static func makeSocket() throws(CommandFailure) -> CInt {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw CommandFailure("no file descriptors left", status: .unavailable) }
        return descriptor
    }
}
