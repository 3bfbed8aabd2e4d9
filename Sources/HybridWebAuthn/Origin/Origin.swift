// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// Where a request comes from: `https://host[:port]`, or `http://` for this machine itself.
///
/// The text is the ASCII serialization that browsers put into client data: lower case, without the
/// scheme's default port. Unicode names must be given in their `xn--` form; IP addresses have no relying
/// party ID and are refused (WebAuthn Level 3 §5.1.3, HTML's *effective domain*).
public struct Origin: Hashable, Sendable {
    /// The serialized origin, such as `https://example.com:8443`.
    public let text: String
    /// Its host, which is also the default relying party ID.
    public let host: RelyingPartyID

    /// Reads an origin; upper case and a default port are normalized away.
    public init(_ text: some StringProtocol) throws(OriginError) {
        let text = String(text)
        // ASCII only, so that lowercasing can't turn another character into a letter.
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
        guard scheme == .https || Self.isThisMachine(host) else { throw .insecure }
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

    /// Whether browsers would read the host as an IPv4 address: its last label is a decimal or hex number.
    private static func isNumber(_ host: Substring) -> Bool {
        guard let last = host.split(separator: ".").last else { return false }
        if last.allSatisfy({ ("0"..."9").contains($0) }) { return true }
        return last.hasPrefix("0x") && last.dropFirst(2).allSatisfy(\.isHexDigit)
    }

    private static func isThisMachine(_ host: RelyingPartyID) -> Bool {
        host.text == "localhost" || host.text.hasSuffix(".localhost")
    }
}

extension Origin: CustomStringConvertible {
    /// The serialized origin.
    public var description: String { text }
}

/// Why a text is not an origin that may use passkeys.
public enum OriginError: Error, Equatable, Sendable {
    /// It is not `https://host[:port]`, without a path.
    case notAnOrigin
    /// The scheme is neither `https` nor `http`.
    case scheme
    /// It is `http` and not `localhost`.
    case insecure
    /// The host is an IP address.
    case ipAddress

    /// What a browser would throw: such pages have no `navigator.credentials`, or no effective domain (§5.1.3, step 7).
    public var name: WebAuthnErrorName { self == .notAnOrigin ? .typeError : .securityError }

    /// What is wrong and what to write instead.
    public var sentence: String {
        switch self {
        case .notAnOrigin: "the origin must look like https://example.com, in xn-- form, with nothing behind the port"
        case .scheme: "the origin must begin with https://"
        case .insecure: "the origin must begin with https://; http:// is for localhost only"
        case .ipAddress: "the origin must have a host name; passkeys do not work with IP addresses"
        }
    }
}
