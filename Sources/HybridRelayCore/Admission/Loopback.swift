// SPDX-License-Identifier: Apache-2.0

public import NIOCore

extension SocketAddress {
    /// Whether only this machine can reach the address.
    public var isLoopback: Bool {
        switch self {
        case .unixDomainSocket: return true
        case .v4, .v6:
            // The system writes each address in one way only (RFC 5952), so the text can be compared.
            guard let text = ipAddress else { return false }
            return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
        }
    }
}
