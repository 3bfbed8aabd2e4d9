// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import NIOHTTP1

/// The target of a redirection, checked before it is followed.
package struct Redirect: Error, Equatable, Sendable {
    /// Maximum number of redirections in sequence.
    package static let maximumCount = 5
    /// Maximum length of a target in bytes.
    static let maximumBytes = 2048
    /// The only port that is allowed.
    private static let port = 443
    /// Statuses of redirections (RFC 9110 §15.4).
    package static let statuses: Set<UInt> = [301, 302, 303, 307, 308]

    /// The host, a name in lower case.
    package let host: String
    /// Path and query, of visible ASCII.
    package let path: String

    /// Reads the `Location` field of a response to a request for `current`.
    package init(_ head: HTTPResponseHead, from current: (host: String, path: String)) throws(RedirectError) {
        let values = head.headers["Location"]
        guard values.count == 1 else { throw .noTarget }
        try self.init(values[0], from: current)
    }

    /// Reads a URL, or a reference relative to `current` (RFC 3986 §4.2).
    init(_ text: String, from current: (host: String, path: String)) throws(RedirectError) {
        let bytes = text.utf8
        guard (1...Self.maximumBytes).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .malformed
        }
        // Browsers read a backslash as a slash. A target that programs interpret differently is not followed.
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

    private static func host(_ authority: Substring) throws(RedirectError) -> String {
        // User information has no use here and could mislead.
        guard !authority.utf8.contains(UInt8(ascii: "@")), let target = HostPort(authority) else { throw .malformed }
        guard target.port ?? Self.port == Self.port else { throw .otherPort }
        let host = target.host
        guard IPAddress(host) == nil else { throw .address }
        guard HostName.isValid(host) else { throw host.utf8.allSatisfy(isInNumbers) ? .address : .malformed }
        return host.lowercased()
    }

    private static func isInNumbers(_ byte: UInt8) -> Bool { "0123456789abcdefxABCDEFX.".utf8.contains(byte) }

    private static func path(_ reference: Substring, from current: String) -> String {
        if reference.hasPrefix("/") { return String(reference) }
        let base = current.prefix { $0 != "?" }
        if reference.isEmpty { return current }
        if reference.hasPrefix("?") { return "\(base)\(reference)" }
        let folder = base.lastIndex(of: "/").map { base[...$0] } ?? "/"
        return "\(folder)\(reference)"
    }
}

/// A redirection from one host to the next.
public struct RedirectStep: Hashable, Sendable {
    /// The host that redirects.
    public let from: String
    /// The host of the target, which may be the same.
    public let to: String

    /// Creates a step.
    package init(from: String, to: String) { (self.from, self.to) = (from, to) }
}
