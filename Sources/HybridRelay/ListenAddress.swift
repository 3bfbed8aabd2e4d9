// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridPrimitives
internal import NIOCore

/// `HOST:PORT` of the command line; an IPv6 address stands in brackets.
struct ListenAddress: Hashable, CustomStringConvertible {
    let host: String
    let port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), let port = UInt16(argument[argument.index(after: colon)...])
        else { return nil }
        var host = argument[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.host = String(host)
        self.port = Int(port)
    }

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension ListenAddress {
    /// The address, by name resolution where the host is a name.
    func resolved() throws(CommandFailure) -> SocketAddress {
        do {
            return try SocketAddress.makeAddressResolvingHost(host, port: port)
        } catch {
            throw CommandFailure("cannot resolve \(host)", status: .unavailable)
        }
    }
}
