// SPDX-License-Identifier: Apache-2.0

internal import NIOHTTP1

/// Where a relay sends whoever asks it, judged before anybody goes there.
struct Redirect: Error, Equatable, Sendable {
    /// How many are followed, one after the other.
    static let most = 5
    /// The longest target that is read, in bytes.
    static let maximumBytes = 2048
    /// The one port.
    private static let port = 443
    /// The answers that send elsewhere (RFC 9110 §15.4).
    static let statuses: Set<UInt> = [301, 302, 303, 307, 308]

    /// The host, a name in lower case.
    let host: String
    /// Path and query, of visible ASCII.
    let path: String

    /// Reads `Location` of an answer that `current` gave.
    ///
    /// - Throws: ``RedirectFault``.
    init(_ head: HTTPResponseHead, from current: (host: String, path: String)) throws(RedirectFault) {
        let values = head.headers["Location"]
        guard values.count == 1 else { throw .noTarget }
        try self.init(values[0], from: current)
    }

    /// Reads a URL, or a reference relative to `current` (RFC 3986 §4.2).
    init(_ text: String, from current: (host: String, path: String)) throws(RedirectFault) {
        let bytes = text.utf8
        guard (1...Self.maximumBytes).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .malformed
        }
        // A browser takes a backslash for a slash; what several programs read in several ways is not followed.
        guard !bytes.contains(UInt8(ascii: "\\")) else { throw .malformed }
        var rest = text.prefix { $0 != "#" }
        if let scheme = Self.scheme(of: rest) {
            guard scheme == "https" || scheme == "wss" else { throw .notSecure }
            rest = rest.dropFirst(scheme.utf8.count + 1)
            guard rest.hasPrefix("//") else { throw .malformed }
        }
        if rest.hasPrefix("//") {
            let authority = rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" }
            host = try Self.host(authority)
            rest = rest.dropFirst(2 + authority.utf8.count)
            path = rest.hasPrefix("/") ? String(rest) : "/" + rest
        } else {
            host = current.host
            path = Self.path(rest, from: current.path)
        }
    }

    private static func scheme(of text: Substring) -> String? {
        let scheme = text.prefix { $0 != ":" && $0 != "/" && $0 != "?" }
        guard scheme.endIndex < text.endIndex, text[scheme.endIndex] == ":" else { return nil }
        return scheme.lowercased()
    }

    private static func host(_ authority: Substring) throws(RedirectFault) -> String {
        // A user's name in front is there to mislead.
        guard !authority.utf8.contains(UInt8(ascii: "@")), let (host, port) = HostAndPort.split(authority) else {
            throw .malformed
        }
        guard port ?? Self.port == Self.port else { throw .otherPort }
        guard NetworkAddress(host) == nil else { throw .address }
        guard HostName.isValid(host) else { throw host.utf8.allSatisfy(isOfNumbers) ? .address : .malformed }
        return host.lowercased()
    }

    private static func isOfNumbers(_ byte: UInt8) -> Bool { "0123456789abcdefxABCDEFX.".utf8.contains(byte) }

    private static func path(_ reference: Substring, from current: String) -> String {
        if reference.hasPrefix("/") { return String(reference) }
        let base = current.prefix { $0 != "?" }
        if reference.isEmpty { return current }
        if reference.hasPrefix("?") { return "\(base)\(reference)" }
        let folder = base.lastIndex(of: "/").map { base[...$0] } ?? "/"
        return "\(folder)\(reference)"
    }
}

/// Why a redirection is not followed.
public enum RedirectFault: String, Error, Equatable, Sendable {
    /// There is no `Location`, or more than one.
    case noTarget = "without saying where to"
    /// The target can't be read.
    case malformed = "to something that is no web address"
    /// It is not `https` or `wss`.
    case notSecure = "to a place without TLS"
    /// Another port than 443.
    case otherPort = "to another port than 443"
    /// An address in place of a name.
    case address = "to an address in place of a name"
    /// A name or an address of this device or this network, and the relay itself is none.
    case local = "into this device or its own network"
}

/// A step from one host to the next.
public struct RedirectStep: Hashable, Sendable {
    /// The host that sent elsewhere.
    public let from: String
    /// The host that was named; may be the same.
    public let to: String
}
