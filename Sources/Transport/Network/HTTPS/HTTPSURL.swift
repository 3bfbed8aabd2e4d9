// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// An `https` URL as it is requested: host, port, path and query.
///
/// Parsing is strict, so that no other program could read another host: only visible ASCII, no user information, no
/// backslash, no numeric host in a legacy form. A URL may contain a secret, so it is never printed.
public struct HTTPSURL: Hashable, Sendable, SecretMaterial {
    /// Maximum length in bytes.
    public static let maximumLength = 2048
    /// The default port of https.
    public static let defaultPort = 443

    /// The host: a name in lower case without a trailing dot, or an address without brackets.
    public let host: String
    /// The port.
    public let port: Int
    /// Path and query, which begin with `/`; a fragment is dropped.
    public let target: String

    /// Parses a URL.
    ///
    /// - Throws: ``HTTPSError/malformedURL``, ``HTTPSError/notSecure``.
    public init(parsing text: some StringProtocol) throws(HTTPSError) {
        let bytes = text.utf8
        guard bytes.count <= Self.maximumLength, bytes.allSatisfy({ (0x21...0x7E).contains($0) }),
            !bytes.contains(UInt8(ascii: "\\"))
        else { throw .malformedURL }
        guard text.prefix(8).lowercased() == "https://" else { throw .notSecure }
        let rest = text.dropFirst(8).prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.utf8.contains(UInt8(ascii: "@")), let place = HostPort(authority) else { throw .malformedURL }
        let isName = IPAddress(place.host) == nil
        guard !isName || HostName.isValid(place.host) else { throw .malformedURL }
        host = place.host.lowercased()
        port = place.port ?? Self.defaultPort
        let target = rest.dropFirst(authority.count)
        self.target = target.hasPrefix("/") ? String(target) : "/\(target)"
    }

    /// Parses the target of a redirection, which may be relative to this URL (RFC 3986 §4.2).
    ///
    /// - Throws: ``HTTPSError/redirectionRefused``.
    func redirected(to location: String) throws(HTTPSError) -> HTTPSURL {
        guard let redirect = try? Redirect(location, from: (host, target)), !location.lowercased().hasPrefix("wss:")
        else { throw .redirectionRefused }
        // A reference without a host stays on this port; a URL with a host has port 443.
        let staysHere = !location.hasPrefix("//") && !location.lowercased().hasPrefix("https:")
        guard
            let url = try? HTTPSURL(
                parsing: "https://\(HostPort(host: redirect.host, port: staysHere ? port : nil))\(redirect.path)"
            )
        else { throw .redirectionRefused }
        return url
    }

    /// Scheme, host and port, without the default port (RFC 6454 §6.2).
    public var origin: String {
        "https://\(HostPort(host: host, port: port == Self.defaultPort ? nil : port))"
    }

    /// Host and port as in the field `Host`.
    var authority: String { HostPort(host: host, port: port == Self.defaultPort ? nil : port).description }
}
