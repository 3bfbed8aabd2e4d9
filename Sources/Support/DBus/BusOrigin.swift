// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc

/// The origin of a connected bus.
///
/// Only on the system's own bus does a name such as `org.bluez` belong to root. The path of its socket is not enough: in
/// a mount namespace any socket can be at that path, and in a user namespace any user can be root. A bus that cannot
/// be verified does not count as the system's.
package enum BusOrigin: Hashable, Sendable {
    /// The system's own bus.
    case system
    /// A bus at another address.
    case otherAddress
    /// A bus at the system's path, seen from a user namespace: user IDs there say nothing about the system's.
    case userNamespace
    /// A bus at the system's path, seen from a process whose user namespace is unknown.
    case unknownNamespace
    /// A bus at the system's path that neither root nor the account of the system's bus has opened.
    case otherOwner

    /// The accounts under which distributions run the system's bus.
    static let accounts: Set<String> = ["messagebus", "dbus"]

    /// The mapping of user IDs outside of user namespaces: every ID stands for itself (user_namespaces(7)).
    static let identity = "0 0 4294967295"

    /// Determines the origin of the bus to which a socket is connected.
    ///
    /// - Parameters:
    ///   - descriptor: The connected socket.
    ///   - address: The address to which it was connected.
    init(of descriptor: CInt, at address: BusAddress) {
        self.init(
            namesSystemSocket: address.namesSystemSocket && BusAddress.peerIsSystemSocket(descriptor),
            mapping: Self.mapping(),
            owner: Self.owner(of: descriptor),
            user: geteuid(),
            account: Self.account
        )
    }

    /// Determines the origin from observations.
    ///
    /// - Parameters:
    ///   - namesSystemSocket: True if address and peer have the system's path.
    ///   - mapping: The user namespace's mapping of IDs; `nil` if unknown.
    ///   - owner: The user who opened the bus; `nil` if unknown.
    ///   - user: The user of this process.
    ///   - account: Returns the name of a user.
    init(namesSystemSocket: Bool, mapping: String?, owner: uid_t?, user: uid_t, account: (uid_t) -> String?) {
        guard namesSystemSocket else {
            self = .otherAddress
            return
        }
        guard let mapping else {
            self = .unknownNamespace
            return
        }
        guard mapping == Self.identity else {
            self = .userNamespace
            return
        }
        guard let owner else {
            self = .otherOwner
            return
        }
        let isTrusted = owner == 0 || owner != user && account(owner).map(Self.accounts.contains) == true
        self = isTrusted ? .system : .otherOwner
    }

    /// The cause and the remedy in one line if the bus has the system's path but is not verified.
    package var doubt: String? {
        switch self {
        case .system, .otherAddress: nil
        case .userNamespace:
            "this program runs in a user namespace (a rootless container, a sandboxed service), where the system's bus "
                + "can't be verified; run it outside"
        case .unknownNamespace:
            "this program can't verify that it is outside of user namespaces (this takes a kernel with user namespaces, "
                + "5.6 or newer, and its own /proc); see docs/bluetooth.md"
        case .otherOwner:
            "the bus at \(BusAddress.existingSystemPath) was not started by the system; see docs/bluetooth.md"
        }
    }

    /// Returns the mapping of user IDs of this process, its numbers separated by single spaces; `nil` if the kernel
    /// does not show it, or if it may be another file.
    private static func mapping() -> String? {
        let proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard proc >= 0 else { return nil }
        defer { close(proc) }
        // In a mount namespace, anything can be at a path: the directory must be in proc's file system, and no other file
        // may be mounted below it. Kernels before 5.6 cannot check the latter.
        var system = statfs()
        guard fstatfs(proc, &system) == 0, system.f_type == procMagic else { return nil }
        var how = open_how(flags: UInt64(O_RDONLY | O_CLOEXEC), mode: 0, resolve: UInt64(RESOLVE_NO_XDEV))
        let file = hybrid_openat2(proc, "self/uid_map", &how)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
            .split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    }

    /// The type of proc's file system (linux/magic.h).
    private static let procMagic = 0x9FA0

    /// Returns the user who opened the socket at the other end.
    ///
    /// Not with `sd_bus_get_owner_creds`, which fails in a container that does not see the owner's process.
    private static func owner(of descriptor: CInt) -> uid_t? {
        // struct ucred: process, user and group.
        var credentials: (pid_t, uid_t, gid_t) = (0, .max, .max)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        let result = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
        guard result == 0, Int(length) == MemoryLayout.size(ofValue: credentials), credentials.1 != .max else {
            return nil
        }
        return credentials.1
    }

    private static func account(_ user: uid_t) -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, let name = found?.pointee.pw_name else {
            return nil
        }
        return String(cString: name)
    }
}
