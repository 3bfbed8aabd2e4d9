// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Where a bus listens.
///
/// Whether it is the system's own decides if a heard advert proves that a phone is near, so the answer must not
/// hang on the wording of a variable: a path that leads to the system's socket is replaced by that socket's own
/// path before connecting, and after connecting the path at the other end is compared too.
public struct BusAddress: Hashable, Sendable {
    /// The address in D-Bus notation, such as `unix:path=/run/dbus/system_bus_socket`.
    public let text: String
    /// Whether the address names the system's own socket.
    public let namesSystemSocket: Bool

    /// The paths under which distributions know the system's socket.
    static let systemPaths = ["/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket"]

    /// The bus that `DBUS_SYSTEM_BUS_ADDRESS` names, else the system's own.
    public static var system: BusAddress {
        guard let variable = getenv("DBUS_SYSTEM_BUS_ADDRESS") else { return BusAddress("") }
        return BusAddress(String(cString: variable))
    }

    /// Takes an address in D-Bus notation; the empty one stands for the system's own bus.
    public init(_ text: String) {
        if text.isEmpty || Self.leadsToSystemSocket(text) {
            self.text = "unix:path=" + Self.existingSystemPath
            namesSystemSocket = true
        } else {
            self.text = text
            namesSystemSocket = false
        }
    }

    private static var existingSystemPath: String {
        systemPaths.first { access($0, F_OK) == 0 } ?? systemPaths[0]
    }

    private static func leadsToSystemSocket(_ text: String) -> Bool {
        let prefix = "unix:path="
        // Several addresses, further keys and escapes are legal, but nobody needs them to name this one socket.
        guard text.hasPrefix(prefix), !text.utf8.contains(where: { ";,%".utf8.contains($0) }) else { return false }
        let path = String(text.dropFirst(prefix.count))
        if systemPaths.contains(path) { return true }
        guard let resolved = resolve(path) else { return false }
        return systemPaths.contains { resolve($0) == resolved }
    }

    private static func resolve(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Whether the socket `descriptor` is connected to one of the system's paths.
    static func peerIsSystemSocket(_ descriptor: CInt) -> Bool {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return false }
        let path = withUnsafeBytes(of: address.sun_path) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return systemPaths.contains(path)
    }
}
