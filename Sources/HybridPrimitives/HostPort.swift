// SPDX-License-Identifier: Apache-2.0

/// `HOST[:PORT]`, with an IPv6 address in brackets (RFC 3986 §3.2).
package struct HostPort: Hashable, Sendable, CustomStringConvertible {
    /// The host name or address, without brackets.
    package let host: String
    /// The port, if there is one.
    package let port: Int?

    /// Creates a value from its parts.
    package init(host: String, port: Int?) { (self.host, self.port) = (host, port) }

    /// Reads a host and an optional port; only the brackets of an IPv6 address are checked, not the characters of
    /// names.
    ///
    /// - Parameters:
    ///   - ports: Ports that are accepted; servers take 0 for any free port.
    ///   - allowsZone: True if an IPv6 address may carry the zone of a local interface, as in `[fe80::1%eth0]`.
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

    /// The text that ``init(_:ports:allowsZone:)`` reads.
    package var description: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port.map { "\(name):\($0)" } ?? name
    }

    /// Takes the text in brackets, or all up to the next colon; `nil` if a bracket is not closed.
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

/// `HOST:PORT:HOST2:PORT2` of curl's `--connect-to`: connections meant for the first go to the second.
///
/// An empty part means *any* on the left and *the same* on the right.
public struct ConnectTo: Hashable, Sendable {
    package let fromHost: String?
    package let fromPort: Int?
    package let toHost: String?
    package let toPort: Int?

    /// Reads curl's form, with IPv6 addresses in brackets; `nil` if the text has another form.
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
    package func target(for host: String, port: Int) -> (host: String, port: Int)? {
        guard fromHost ?? host == host, fromPort ?? port == port else { return nil }
        return (toHost ?? host, toPort ?? port)
    }
}
