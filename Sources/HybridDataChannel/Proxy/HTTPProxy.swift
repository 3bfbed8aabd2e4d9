// SPDX-License-Identifier: Apache-2.0

/// A proxy that opens tunnels with CONNECT (RFC 9110 §9.3.6).
struct HTTPProxy: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Why a text names no proxy that can be used.
    enum ParseError: Error {
        /// Not `[http://][USER[:PASSWORD]@]HOST[:PORT]`.
        case malformed
        /// A proxy of another kind, such as `socks5`.
        case otherKind(String)
    }

    /// The port where none is named, as in curl.
    static let usualPort = 1080

    let host: String
    let port: Int
    /// Who uses it, where it wants to know.
    let authorization: ProxyAuthorization?

    /// Reads a proxy as variables name it; user and password are percent-encoded.
    init(_ text: String) throws(ParseError) {
        var rest = text[...]
        if let scheme = Self.scheme(of: text) {
            guard scheme == "http" else { throw .otherKind(scheme) }
            rest = rest.dropFirst(scheme.utf8.count + 3)
        }
        // A path means nothing here. With an @ in it, it is the rest of a password that should have been encoded.
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
        guard let (host, port) = HostAndPort.split(rest), HostName.isValid(host) || NetworkAddress(host) != nil else {
            throw .malformed
        }
        self.host = host.lowercased()
        self.port = port ?? Self.usualPort
    }

    private static func scheme(of text: String) -> String? {
        guard let end = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<end.lowerBound].lowercased()
        let isScheme =
            scheme.utf8.count <= 16
            && scheme.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
        return isScheme && !scheme.isEmpty ? scheme : nil
    }

    /// Host and port; never who uses it.
    var description: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
    /// Host and port.
    var debugDescription: String { description }
    /// A mirror without children.
    var customMirror: Mirror { Mirror(self, children: []) }
}
