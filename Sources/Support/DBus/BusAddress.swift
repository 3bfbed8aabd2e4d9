// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The address of a bus.
///
/// A received advert proves that a phone is nearby only on the system bus. The check for the system bus must not depend
/// on the spelling of an environment variable. Therefore a path that resolves to the system's socket is replaced by the
/// standard path before connecting. After connecting, the peer is verified (``BusOrigin``).
package struct BusAddress: Hashable, Sendable {
    /// The address in D-Bus notation, such as `unix:path=/run/dbus/system_bus_socket`.
    package let text: String
    /// True if the address names the socket of the system bus.
    package let namesSystemSocket: Bool

    /// The paths of the system bus's socket in various distributions.
    static let systemPaths = ["/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket"]

    /// The bus that `DBUS_SYSTEM_BUS_ADDRESS` names; by default the system bus.
    package static var system: BusAddress {
        guard let variable = getenv("DBUS_SYSTEM_BUS_ADDRESS") else { return BusAddress("") }
        return BusAddress(String(cString: variable))
    }

    /// Creates an address from D-Bus notation.
    ///
    /// The empty string stands for the system bus.
    package init(_ text: String) {
        if text.isEmpty || Self.leadsToSystemSocket(text) {
            self.text = "unix:path=" + Self.existingSystemPath
            namesSystemSocket = true
        } else {
            self.text = text
            namesSystemSocket = false
        }
    }

    /// The path of the system's socket here.
    static var existingSystemPath: String {
        systemPaths.first { access($0, F_OK) == 0 } ?? systemPaths[0]
    }

    private static func leadsToSystemSocket(_ text: String) -> Bool {
        let prefix = "unix:path="
        // Address lists, additional keys and escape sequences are valid, but not needed to name this socket.
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

    /// Returns true if the socket `descriptor` is connected to one of ``systemPaths``.
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
