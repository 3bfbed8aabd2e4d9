// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A proxy that opens tunnels with CONNECT (RFC 9110 §9.3.6).
package struct HTTPProxy: Sendable, SecretMaterial {
    /// The port if none is named, as in curl.
    static let defaultPort = 1080

    /// The proxy's name or address.
    package let host: String
    /// The proxy's port.
    package let port: Int
    /// Credentials, if the proxy needs them.
    let authorization: ProxyAuthorization?

    /// Creates a proxy from the value of an environment variable, with user name and password percent-encoded.
    init(_ text: String) throws(ProxySettingError) {
        var rest = text[...]
        if let scheme = Self.scheme(of: text) {
            guard scheme == "http" else { throw .otherKind(scheme) }
            rest = rest.dropFirst(scheme.utf8.count + 3)
        }
        // A path is ignored. If it contains an @, it is the rest of a password that should have been encoded.
        let all = rest
        rest = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !all[rest.endIndex...].contains("@") else { throw .malformed }
        if let at = rest.lastIndex(of: "@") {
            guard let user = ProxyAuthorization(userInfo: rest[..<at]) else { throw .malformed }
            authorization = user
            rest = rest[rest.index(after: at)...]
        } else {
            authorization = nil
        }
        guard let address = HostPort(rest), HostName.isValid(address.host) || IPAddress(address.host) != nil else {
            throw .malformed
        }
        host = address.host.lowercased()
        port = address.port ?? Self.defaultPort
    }

    private static func scheme(of text: String) -> String? {
        guard let end = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<end.lowerBound].lowercased()
        let isScheme =
            scheme.utf8.count <= 16
            && scheme.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
        return isScheme && !scheme.isEmpty ? scheme : nil
    }

    /// Host and port, without the credentials.
    package var description: String { HostPort(host: host, port: port).description }
}
