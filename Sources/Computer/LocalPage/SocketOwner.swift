// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import NIOCore

/// A lookup of the user who owns the other end of a connection on 127.0.0.1.
///
/// The page's address is part of the browser's command line. Other users of this computer can read the command line and
/// connect to 127.0.0.1, so the owner must be checked. The kernel lists the owner of each socket in `/proc/net/tcp`, or
/// in `/proc/net/tcp6` for IPv6 sockets that are connected to IPv4 addresses.
enum SocketOwner {
    /// The two ports of a connection on 127.0.0.1.
    typealias Connection = (client: Int, server: Int)

    private static let (table, table6) = ("/proc/net/tcp", "/proc/net/tcp6")
    /// The maximum number of bytes to read; a busy system lists a few thousand sockets with about 150 bytes each.
    private static let maximumBytes = 64 << 20

    /// True if the system lists the owners of sockets.
    static var isAvailable: Bool { access(table, R_OK) == 0 }

    /// Returns the ID of the user who owns the client's socket.
    ///
    /// - Returns: `nil` if the socket is closed, is not on 127.0.0.1, or cannot be looked up.
    static func user(of client: SocketAddress, connectedTo server: SocketAddress) -> UInt32? {
        guard client.ipAddress == "127.0.0.1", server.ipAddress == "127.0.0.1", let clientPort = client.port,
            let serverPort = server.port
        else { return nil }
        let connection = (client: clientPort, server: serverPort)
        return search(table, for: connection) ?? search(table6, for: connection)
    }

    private static func search(_ path: String, for connection: Connection) -> UInt32? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var chunk = [UInt8](repeating: 0, count: 65536)
        var unread: [UInt8] = []
        var total = 0
        while total < maximumBytes {
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

    /// Returns the user ID of an established connection from complete lines of a table; `nil` if it is not listed.
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

    /// Returns true if a field of the table names 127.0.0.1 and this port.
    ///
    /// The kernel prints addresses as words in host byte order, and ports as plain numbers.
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
