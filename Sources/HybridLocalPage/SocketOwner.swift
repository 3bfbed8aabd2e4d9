// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import NIOCore

/// Whose socket is at the other end of a connection on 127.0.0.1.
///
/// The page's address stands in the browser's command line, where other users of this device can read it, and any of
/// them can connect to 127.0.0.1. The kernel knows whose socket that is and says so in `/proc/net/tcp` (and in `tcp6`
/// for sockets of IPv6 that were connected to an address of IPv4).
enum SocketOwner {
    /// Two ports of 127.0.0.1, as the kernel's tables name them.
    struct Connection: Equatable, Sendable {
        let client: Int
        let server: Int
    }

    private static let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
    /// A busy machine has some thousand sockets of about 150 bytes each.
    private static let mostBytes = 64 << 20

    /// Whether the system tells.
    static var isKnown: Bool { access(tables[0], R_OK) == 0 }

    /// The user's number; `nil` for a socket that is closed again, is not of 127.0.0.1 or can't be looked up.
    static func user(of client: SocketAddress, connectedTo server: SocketAddress) -> UInt32? {
        guard client.ipAddress == "127.0.0.1", server.ipAddress == "127.0.0.1", let clientPort = client.port,
            let serverPort = server.port
        else { return nil }
        let connection = Connection(client: clientPort, server: serverPort)
        for table in tables {
            if let user = search(table, for: connection) { return user }
        }
        return nil
    }

    private static func search(_ path: String, for connection: Connection) -> UInt32? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var chunk = [UInt8](repeating: 0, count: 65536)
        var unread: [UInt8] = []
        var total = 0
        while total < mostBytes {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            total += count
            unread += chunk[..<count]
            guard let end = unread.lastIndex(of: UInt8(ascii: "\n")) else { continue }
            if let user = user(of: connection, in: unread[..<end]) { return user }
            unread.removeSubrange(...end)
        }
        return nil
    }

    /// Searches whole lines of a table for an established connection.
    static func user(of connection: Connection, in table: some Collection<UInt8>) -> UInt32? {
        for line in table.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 8)
            guard fields.count > 7, fields[3].elementsEqual("01".utf8),
                isLoopback(fields[1], port: connection.client), isLoopback(fields[2], port: connection.server)
            else { continue }
            return UInt32(String(decoding: fields[7], as: UTF8.self))
        }
        return nil
    }

    /// Addresses stand there as numbers in the machine's own order of bytes, ports in the usual one.
    private static func isLoopback(_ field: some Collection<UInt8>, port: Int) -> Bool {
        let address = hexadecimal(UInt32(bigEndian: 0x7F00_0001), digits: 8)
        let mapped = "0000000000000000" + hexadecimal(UInt32(bigEndian: 0x0000_FFFF), digits: 8) + address
        let ending = ":" + hexadecimal(UInt32(truncatingIfNeeded: port), digits: 4)
        return field.elementsEqual((address + ending).utf8) || field.elementsEqual((mapped + ending).utf8)
    }

    private static func hexadecimal(_ number: UInt32, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
