// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import NIOCore

/// `HOST:PORT` of the command line; an IPv6 address stands in brackets.
struct ListenAddress: ExpressibleByArgument, CustomStringConvertible {
    let host: String
    let port: Int

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

extension SocketAddress {
    /// Whether only this machine can reach the address.
    var isLoopback: Bool {
        switch self {
        case .unixDomainSocket: return true
        case .v4, .v6:
            // The system writes each address in one way only (RFC 5952), so the text can be compared.
            guard let text = ipAddress else { return false }
            return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
        }
    }
}
