// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// The process at the other end of a Unix socket, as the kernel recorded it when it connected.
package struct PeerCredentials: Hashable, Sendable {
    /// The process ID.
    ///
    /// The process may have ended since, and another one may have its ID.
    package let processID: pid_t
    /// The user.
    package let user: uid_t

    /// Creates credentials.
    package init(processID: pid_t, user: uid_t) {
        self.processID = processID
        self.user = user
    }

    /// Reads the credentials of a connection; returns `nil` if there are none.
    package init?(socket: CInt) {
        // struct ucred: process, user and group.
        var credentials: (pid_t, uid_t, gid_t) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0,
            length == MemoryLayout.size(ofValue: credentials)
        else { return nil }
        self.init(processID: credentials.0, user: credentials.1)
    }

    /// True if the process may use the agent: it belongs to the agent's user, or to root, who can do so anyway.
    package func mayUseAgent(of owner: uid_t) -> Bool { user == owner || user == 0 }

    /// True if the process sees other files than this one, as programs of Flatpak, Snap and containers do.
    ///
    /// A process that does not let this one find out counts as such; the superuser's processes do not.
    package var isSandboxed: Bool {
        guard user != 0 else { return false }
        return Self.mountNamespace(of: "\(processID)").map { $0 != Self.mountNamespace(of: "self") } ?? true
    }

    private static func mountNamespace(of process: String) -> [CChar]? {
        var characters = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/\(process)/ns/mnt", &characters, characters.count)
        return count > 0 ? Array(characters.prefix(count)) : nil
    }

    /// The command line of the process, whose arguments end with zero bytes; empty if it can't be read.
    package var commandLine: [UInt8] {
        let descriptor = open("/proc/\(processID)/cmdline", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 16384)
        let count = read(descriptor, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }
}
