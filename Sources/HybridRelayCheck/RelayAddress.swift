// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// `wss://HOST[:PORT]`, or `ws://` on this machine: the relay that is looked at.
public struct RelayAddress: Hashable, Sendable, CustomStringConvertible {
    /// Whether TLS is spoken.
    public let isSecure: Bool
    /// The host name or address, in lower case, without brackets.
    public let host: String
    /// The port.
    public let port: Int

    /// Why a text is no relay's address.
    public enum ParseError: Error, Hashable, Sendable {
        /// Not `wss://HOST[:PORT]`.
        case malformed
        /// `ws://` to another machine would tell nothing about what phones and clients see: they speak TLS.
        case plaintextElsewhere
    }

    /// Reads `wss://HOST[:PORT]` or `ws://HOST[:PORT]`; an IPv6 address stands in brackets.
    public init(_ text: String) throws(ParseError) {
        let lower = text.lowercased()
        guard let scheme = ["wss://", "ws://"].first(where: { lower.hasPrefix($0) }) else { throw .malformed }
        isSecure = scheme == "wss://"
        var rest = lower.dropFirst(scheme.count)
        if rest.last == "/" { rest = rest.dropLast() }
        let isBracketed = rest.first == "["
        guard let name = AddressField.take(from: &rest), isBracketed ? Self.isIPv6(name) : Self.isName(name) else {
            throw .malformed
        }
        host = name
        if rest.isEmpty {
            port = isSecure ? 443 : 80
        } else {
            guard rest.first == ":", let number = AddressField.port(rest.dropFirst()) else { throw .malformed }
            port = number
        }
        guard isSecure || host == "localhost" || host == "::1" || Self.isIPv4Loopback(host) else {
            throw .plaintextElsewhere
        }
    }

    /// The value of `Host`: the port stands there unless it is the scheme's own.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// As a person writes it.
    public var description: String { (isSecure ? "wss://" : "ws://") + authority }

    /// A host name or an IPv4 address.
    private static func isName(_ text: String) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        return text.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count)
                    && label.utf8.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                        default: "-_".utf8.contains(byte)
                        }
                    }
            }
    }

    private static func isIPv6(_ text: String) -> Bool {
        guard case .v6? = try? SocketAddress(ipAddress: text, port: 0) else { return false }
        // A zone belongs to one machine and can't stand in Host.
        return !text.contains("%")
    }

    /// A name such as `127.example.com` is not this machine.
    private static func isIPv4Loopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.first == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

/// `HOST:PORT:HOST2:PORT2` of curl's `--connect-to`: connections meant for the first go to the second; an empty
/// part means *any* on the left and *the same* on the right.
public struct RelayDetour: Sendable {
    private let from: (host: String, port: Int?)
    private let to: (host: String, port: Int?)

    /// Reads curl's form; IPv6 addresses stand in brackets.
    public init?(_ text: String) {
        var rest = text[...]
        var fields: [String] = []
        while let field = AddressField.take(from: &rest) {
            fields.append(field)
            guard rest.first == ":" else { break }
            rest = rest.dropFirst()
        }
        guard rest.isEmpty, fields.count == 4 else { return nil }
        let ports = [fields[1], fields[3]].map { $0.isEmpty ? nil : AddressField.port($0[...]) }
        guard (ports[0] != nil) == !fields[1].isEmpty, (ports[1] != nil) == !fields[3].isEmpty else { return nil }
        from = (fields[0].lowercased(), ports[0])
        to = (fields[2], ports[1])
    }

    /// Where a connection to a relay really goes.
    func target(of relay: RelayAddress) -> (host: String, port: Int) {
        guard from.host.isEmpty || from.host == relay.host, (from.port ?? relay.port) == relay.port else {
            return (relay.host, relay.port)
        }
        return (to.host.isEmpty ? relay.host : to.host, to.port ?? relay.port)
    }

}

/// The parts between colons.
private enum AddressField {
    /// Takes the text up to the next colon or the end, or an address in brackets; `nil` if a bracket stays open.
    static func take(from rest: inout Substring) -> String? {
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            let field = String(rest[rest.index(after: rest.startIndex)..<end])
            rest = rest[rest.index(after: end)...]
            return field
        }
        let end = rest.firstIndex(of: ":") ?? rest.endIndex
        let field = String(rest[..<end])
        rest = rest[end...]
        return field
    }

    static func port(_ text: Substring) -> Int? {
        // `UInt16` would take a sign, too.
        guard text.first != "+", let number = UInt16(text), number > 0 else { return nil }
        return Int(number)
    }
}
