// SPDX-License-Identifier: Apache-2.0

/// `HOST[:PORT]`, with an IPv6 address in brackets (RFC 3986 §3.2).
package struct HostPort: Hashable, Sendable, CustomStringConvertible {
    /// The host name or address, without brackets.
    package let host: String
    /// The port, if there is one.
    package let port: Int?

    /// Creates a value from its parts.
    package init(host: String, port: Int?) { (self.host, self.port) = (host, port) }

    /// Creates a value from `HOST[:PORT]`; `nil` if the text is malformed.
    ///
    /// An address in brackets must be a valid IPv6 address. The characters of other hosts are not checked.
    ///
    /// - Parameters:
    ///   - text: The text to parse.
    ///   - ports: The accepted ports; for a server, they may include 0, which stands for any free port.
    ///   - allowsZone: True if an IPv6 address may have the zone of a local interface, as in `[fe80::1%eth0]`.
    package init?(_ text: some StringProtocol, ports: ClosedRange<UInt16> = 1...65_535, allowsZone: Bool = false) {
        var rest = Substring(text)
        let isBracketed = rest.first == "["
        guard let host = Self.takeHost(from: &rest), !host.isEmpty else { return nil }
        if isBracketed {
            guard IPAddress(allowsZone ? host.prefix { $0 != "%" } : host)?.isIPv6 ?? false else { return nil }
        }
        self.host = String(host)
        guard !rest.isEmpty else {
            port = nil
            return
        }
        guard rest.removeFirst() == ":", let port = Self.port(rest, ports) else { return nil }
        self.port = port
    }

    /// The value in the form that ``init(_:ports:allowsZone:)`` parses.
    package var description: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port.map { "\(name):\($0)" } ?? name
    }

    /// Takes the host from the front: the text in brackets, or everything up to the next colon.
    ///
    /// - Returns: The host without brackets, or `nil` if the closing bracket is missing.
    fileprivate static func takeHost(from rest: inout Substring) -> Substring? {
        guard rest.first == "[" else {
            defer { rest = rest.drop { $0 != ":" } }
            return rest.prefix { $0 != ":" }
        }
        guard let end = rest.firstIndex(of: "]") else { return nil }
        defer { rest = rest[rest.index(after: end)...] }
        return rest[..<end].dropFirst()
    }

    fileprivate static func port(_ text: Substring, _ range: ClosedRange<UInt16> = 1...65_535) -> Int? {
        // `UInt16` would accept a sign.
        guard text.first != "+", let number = UInt16(text), range.contains(number) else { return nil }
        return Int(number)
    }
}

/// The value `HOST1:PORT1:HOST2:PORT2` of curl's `--connect-to`, which redirects connections from the first to the
/// second.
///
/// An empty `HOST1` or `PORT1` matches any host or port. An empty `HOST2` or `PORT2` leaves the host or port unchanged.
public struct ConnectTo: Hashable, Sendable {
    package let fromHost: String?
    package let fromPort: Int?
    package let toHost: String?
    package let toPort: Int?

    /// Creates an override from curl's syntax, with IPv6 addresses in brackets; `nil` if the text is malformed.
    public init?(_ text: String) {
        var rest = text[...]
        var parts: [Substring] = []
        while let part = HostPort.takeHost(from: &rest) {
            parts.append(part)
            guard rest.first == ":" else { break }
            rest.removeFirst()
        }
        guard rest.isEmpty, parts.count == 4 else { return nil }
        (fromPort, toPort) = (HostPort.port(parts[1]), HostPort.port(parts[3]))
        guard (fromPort == nil) == parts[1].isEmpty, (toPort == nil) == parts[3].isEmpty else { return nil }
        fromHost = parts[0].isEmpty ? nil : parts[0].lowercased()
        toHost = parts[2].isEmpty ? nil : String(parts[2])
    }

    /// Returns the host and port to connect to in place of those given; `nil` if the override does not apply to them.
    ///
    /// `host` must be in lower case.
    package func target(for host: String, port: Int) -> (host: String, port: Int)? {
        guard fromHost ?? host == host, fromPort ?? port == port else { return nil }
        return (toHost ?? host, toPort ?? port)
    }
}
