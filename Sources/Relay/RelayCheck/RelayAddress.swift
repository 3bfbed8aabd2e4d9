// SPDX-License-Identifier: Apache-2.0

internal import HybridNetwork
internal import HybridPrimitives

/// The address of the relay to check: `wss://HOST[:PORT]`, or `ws://` on this computer.
package struct RelayAddress: Hashable, Sendable, CustomStringConvertible {
    /// True if connections use TLS.
    package let isSecure: Bool
    /// The host name or address, in lower case, without brackets.
    package let host: String
    /// The port.
    package let port: Int

    /// The reason why a text is not the address of a relay.
    package struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// A sentence for users, with a final period.
        package let description: String

        /// The text does not have the form `wss://HOST[:PORT]`.
        package static let malformed = Self(description: "A relay is named wss://HOST[:PORT].")
        /// The text has the scheme `ws://` but names another computer.
        ///
        /// Authenticators and clients use TLS, so the result would say nothing about them.
        package static let plaintextElsewhere = Self(
            description: "ws:// is for relays on this computer; use wss://."
        )
    }

    /// Parses `wss://HOST[:PORT]` or `ws://HOST[:PORT]`, with an IPv6 address in brackets.
    package init(_ text: String) throws(ParseError) {
        let lower = text.lowercased()
        guard let scheme = ["wss://", "ws://"].first(where: { lower.hasPrefix($0) }) else { throw .malformed }
        isSecure = scheme == "wss://"
        var rest = lower.dropFirst(scheme.count)
        if rest.last == "/" { rest = rest.dropLast() }
        guard let authority = HostPort(rest) else { throw .malformed }
        host = authority.host
        let address = IPAddress(host)
        guard address != nil || HostName.isValid(host) else { throw .malformed }
        port = authority.port ?? Self.defaultPort(isSecure: isSecure)
        guard isSecure || host == "localhost" || address?.isLoopback ?? false else { throw .plaintextElsewhere }
    }

    private static func defaultPort(isSecure: Bool) -> Int { isSecure ? 443 : 80 }

    /// The value of `Host`, with the port unless it is the scheme's default.
    var authority: String {
        HostPort(host: host, port: port == Self.defaultPort(isSecure: isSecure) ? nil : port).description
    }

    /// The address as a URL.
    package var description: String { (isSecure ? "wss://" : "ws://") + authority }
}
