// SPDX-License-Identifier: Apache-2.0

internal import HybridNetwork
internal import HybridPrimitives

/// A push server in the own network, and the beginning of the paths that may be requested there.
struct AllowedPushServer: Hashable, Sendable {
    private let place: HostPort
    /// The beginning of the path without a slash at its end; empty if all paths may be requested.
    private let path: String

    /// Parses `HOST[:PORT][/PATH]`; the default port is 443.
    ///
    /// The path consists of letters, digits, `-`, `.`, `_` and `~` in segments.
    init?(_ text: String) {
        let authority = text.prefix { $0 != "/" }
        guard let place = HostPort(pushServer: String(authority)) else { return nil }
        var path = text.dropFirst(authority.count)
        while path.hasSuffix("/") { path.removeLast() }
        guard path.utf8.allSatisfy({ Self.isPlain($0) || $0 == UInt8(ascii: "/") }), !Self.hasDots(path) else {
            return nil
        }
        (self.place, self.path) = (place, String(path))
    }

    /// Returns true if the relay may send to this URL.
    func permits(_ url: HTTPSURL) -> Bool {
        guard place == HostPort(host: url.host, port: url.port) else { return false }
        guard !path.isEmpty else { return true }
        let requested = url.target.prefix { $0 != "?" }
        // A server could read an encoded dot or slash as such.
        guard !requested.utf8.contains(UInt8(ascii: "%")), !Self.hasDots(requested) else { return false }
        return requested == path || requested.hasPrefix(path + "/")
    }

    private static func hasDots(_ path: Substring) -> Bool {
        path.split(separator: "/").contains { $0 == "." || $0 == ".." }
    }

    /// True for an unreserved character (RFC 3986 §2.3).
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
