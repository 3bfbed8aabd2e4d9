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
    /// The value of `Proxy-Authorization`; a secret.
    let authorization: String?

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
            authorization = try Self.authorization(rest[..<at])
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

    private static func authorization(_ userInfo: Substring) throws(ParseError) -> String {
        let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        for index in 0..<2 {
            if index == 1 { bytes.append(UInt8(ascii: ":")) }
            guard index < parts.count else { break }
            guard let decoded = percentDecoded(parts[index]) else { throw .malformed }
            // A colon in the user's name would move the border to the password (RFC 7617 §2).
            guard index == 1 || !decoded.contains(UInt8(ascii: ":")) else { throw .malformed }
            bytes += decoded
        }
        guard bytes.count <= 1024, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .malformed }
        return "Basic " + Base64.text(bytes)
    }

    private static func percentDecoded(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy(isHexadecimal),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    /// Host and port; never who uses it.
    var description: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
    /// Host and port.
    var debugDescription: String { description }
    /// A mirror without children.
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// RFC 4648 §4.
private enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let word = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0..<4 {
                text.append(place <= group.count ? digits[word >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
