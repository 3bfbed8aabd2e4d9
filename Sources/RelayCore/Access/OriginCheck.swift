// SPDX-License-Identifier: Apache-2.0

/// What a request's `Origin` says when it is compared with its `Host`.
///
/// Only the hosts are compared, in either case of letters: a relay behind a balancer knows neither the scheme nor the
/// port by which it was reached, and clients write `wss://` as well as `https://`. Browsers send the field and pages
/// cannot forge it, so it keeps other sites' pages out, and nobody else.
public enum OriginCheck: Hashable, Sendable {
    /// There is no `Origin`: an app, not a browser.
    case absent
    /// The one `Origin` names the host that the request is for.
    case sameHost
    /// The `Origin` names another host or none (`null`), is malformed, or stands there more than once.
    case otherHost

    /// Longest host that is compared, in characters (RFC 1035 §2.3.4).
    private static let maximumHost = 255

    /// Compares the values of all `Origin` fields with that of `Host`.
    init(origins: [ArraySlice<UInt8>], host: ArraySlice<UInt8>) {
        guard let origin = origins.first else {
            self = .absent
            return
        }
        let names = origins.count == 1 ? Self.authority(of: origin).flatMap(Self.host) : nil
        self = names != nil && names == Self.host(in: host) ? .sameHost : .otherHost
    }

    /// What stands behind `scheme://`.
    private static func authority(of origin: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let colon = origin.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let (scheme, rest) = (origin[..<colon], origin[colon...])
        guard scheme.first?.isLetter == true, scheme.allSatisfy(\.isInSchemes), rest.prefix(3).equals("://") else {
            return nil
        }
        return rest.dropFirst(3)
    }

    /// The host of `HOST`, `HOST:PORT` or `[IPv6]:PORT`, in lower case; `nil` if it is anything else.
    private static func host(in authority: ArraySlice<UInt8>) -> String? {
        var host = authority
        if authority.first == UInt8(ascii: "[") {
            guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = authority[...end]
            guard host.count > 2, host.dropFirst().dropLast().allSatisfy(\.isInBrackets) else { return nil }
        } else {
            host = authority.prefix { $0 != UInt8(ascii: ":") }
            guard !host.isEmpty, host.allSatisfy(\.isInHostNames) else { return nil }
        }
        let port = authority[host.endIndex...]
        guard host.count <= maximumHost, port.isEmpty || port.first == UInt8(ascii: ":"), port.count <= 6,
            port.dropFirst().allSatisfy(\.isDigit)
        else { return nil }
        return String(decoding: host, as: UTF8.self).lowercased()
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    fileprivate var isLetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }

    /// RFC 3986 §3.1.
    fileprivate var isInSchemes: Bool {
        isLetter || isDigit || self == UInt8(ascii: "+") || self == UInt8(ascii: "-") || self == UInt8(ascii: ".")
    }

    /// Letters, digits, dots, hyphens and, as some names have them, underscores.
    fileprivate var isInHostNames: Bool {
        isLetter || isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: ".") || self == UInt8(ascii: "_")
    }

    fileprivate var isInBrackets: Bool {
        isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20) || self == UInt8(ascii: ":")
            || self == UInt8(ascii: ".")
    }
}
