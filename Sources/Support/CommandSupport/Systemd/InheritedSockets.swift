// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives
package import HybridProgram

/// A listening socket from the service manager.
package struct InheritedSocket: Hashable, Sendable {
    /// The open descriptor; the receiver closes it.
    package let descriptor: Int32
    /// The `FileDescriptorName=` of the socket's unit, if names were passed.
    package let name: String?
}

/// Socket activation with the protocol of sd_listen_fds(3).
package enum InheritedSockets {
    /// Maximum number of sockets, far more than any unit has; it bounds the loop if the variable is wrong.
    private static let maximumCount: Int32 = 256

    /// Returns the sockets passed to this process; none without socket activation.
    package static func take() throws(CommandFailure) -> [InheritedSocket] {
        try take(environment: ProcessEnvironment.variables, processID: getpid())
    }

    /// Returns the sockets that an environment announces to a process, the first of which is `firstDescriptor`.
    ///
    /// Each must be a listening stream socket. Child processes do not inherit them.
    package static func take(
        environment: [String: String],
        processID: Int32,
        firstDescriptor: Int32 = 3
    ) throws(CommandFailure) -> [InheritedSocket] {
        guard let process = environment["LISTEN_PID"], let count = environment["LISTEN_FDS"] else { return [] }
        guard let process = Int32(process), process > 0 else {
            throw failure("LISTEN_PID is not a process number")
        }
        // Otherwise, the variables are for the parent process, which did not remove them.
        guard process == processID else { return [] }
        guard let count = Int32(count), (0...maximumCount).contains(count) else {
            throw failure("LISTEN_FDS is not a number from 0 to \(maximumCount)")
        }
        let names = environment["LISTEN_FDNAMES"].map {
            $0.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        }
        guard count > 0 else { return [] }
        if let names, names.count != Int(count) {
            throw failure("LISTEN_FDNAMES has \(names.count) names for \(count) sockets")
        }
        var sockets: [InheritedSocket] = []
        for index in 0..<Int(count) {
            let descriptor = firstDescriptor + Int32(index)
            if let problem = problem(with: descriptor) {
                throw failure("descriptor \(descriptor) from the service manager \(problem)")
            }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            sockets.append(InheritedSocket(descriptor: descriptor, name: names?[index]))
        }
        return sockets
    }

    private static func problem(with descriptor: Int32) -> String? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return "is not open" }
        guard status.st_mode & S_IFMT == S_IFSOCK else { return "is not a socket" }
        guard option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue) else {
            return "is not a stream socket (ListenStream= is needed)"
        }
        guard option(SO_ACCEPTCONN, of: descriptor) == 1 else {
            return "does not listen (Accept=no is needed)"
        }
        return nil
    }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }

    private static func failure(_ sentence: String) -> CommandFailure {
        CommandFailure("socket activation: \(sentence)", status: .configuration)
    }
}
