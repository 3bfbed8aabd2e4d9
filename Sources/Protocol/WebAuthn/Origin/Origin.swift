// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
public import HybridPrimitives

/// The origin of a request: `https://host[:port]`, or `http://` for localhost.
///
/// Internationalized names must be in their `xn--` form. IP addresses cannot have a relying party ID, so they are
/// rejected (WebAuthn Level 3 §5.1.3, HTML's *effective domain*).
public struct Origin: Hashable, Sendable {
    /// The ASCII serialization for client data, such as `https://example.com:8443`.
    ///
    /// It is in lower case and omits the default port of the scheme.
    public let text: String
    /// Host, which is also the default relying party ID.
    public let host: RelyingPartyID

    /// Creates an origin from a text; case and default port are normalized.
    public init(_ text: some StringProtocol) throws(OriginError) {
        let text = String(text)
        // Only ASCII is allowed, because lowercasing can turn some other characters into ASCII letters.
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .notAnOrigin }
        let parts = text.lowercased().split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw .notAnOrigin }
        guard let scheme = Scheme(rawValue: String(parts[0])) else { throw .scheme }
        guard !parts[1].contains(where: { "/?#\\@".contains($0) }) else { throw .notAnOrigin }
        guard !parts[1].hasPrefix("[") else { throw .ipAddress }
        let authority = parts[1].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = authority.first, !Self.isNumber(name) else { throw .ipAddress }
        guard let host = RelyingPartyID(name) else { throw .notAnOrigin }
        var serialized = "\(scheme.rawValue)://\(host.text)"
        if authority.count == 2 {
            let port = try Self.port(authority[1])
            if port != scheme.defaultPort { serialized += ":\(port)" }
        }
        guard scheme == .https || Self.isLocalhost(host) else { throw .insecure }
        self.text = serialized
        self.host = host
    }

    private enum Scheme: String {
        case http
        case https

        var defaultPort: UInt16 { self == .https ? 443 : 80 }
    }

    private static func port(_ text: Substring) throws(OriginError) -> UInt16 {
        guard text.allSatisfy({ ("0"..."9").contains($0) }), let port = UInt16(text), port > 0 else {
            throw .notAnOrigin
        }
        return port
    }

    /// Returns true if browsers parse the host as an IPv4 address: its last label is a decimal or hexadecimal number.
    private static func isNumber(_ host: Substring) -> Bool {
        guard let last = host.split(separator: ".").last else { return false }
        if last.allSatisfy({ ("0"..."9").contains($0) }) { return true }
        return last.hasPrefix("0x") && last.dropFirst(2).allSatisfy(\.isHexDigit)
    }

    private static func isLocalhost(_ host: RelyingPartyID) -> Bool {
        host.text == "localhost" || host.text.hasSuffix(".localhost")
    }
}

extension Origin: CustomStringConvertible {
    /// The serialized origin.
    public var description: String { text }
}

/// A reason why a text is not an origin that may use passkeys.
///
/// In browsers such pages have no `navigator.credentials`, or no effective domain (§5.1.3, step 7).
public struct OriginError: WebAuthnFailure, Hashable {
    /// The text is not `https://host[:port]` without a path.
    public static let notAnOrigin = Self(
        "the origin must look like https://example.com, in xn-- form, with nothing after the port",
        .typeError
    )
    /// The scheme is neither `https` nor `http`.
    public static let scheme = Self("the origin must begin with https://")
    /// The scheme is `http`, and the host is not `localhost`.
    public static let insecure = Self(
        "the origin must begin with https://; http:// is for localhost only"
    )
    /// The host is an IP address.
    public static let ipAddress = Self("the origin must have a host name; passkeys do not work with IP addresses")

    /// Cause and remedy.
    public let sentence: String
    /// Name of the exception that a browser would throw.
    public let name: WebAuthnErrorName
    /// The exit status for a malformed command line.
    public var status: ExitStatus { .usage }
    /// The name of the status.
    public var code: String { status.name }

    private init(_ sentence: String, _ name: WebAuthnErrorName = .securityError) {
        self.sentence = sentence
        self.name = name
    }
}
