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
        self = origins.count == 1 && Self.names(origin.span, host.span) ? .sameHost : .otherHost
    }

    /// Whether an origin names the host of `Host`.
    private static func names(_ origin: Span<UInt8>, _ host: Span<UInt8>) -> Bool {
        guard let authority = authority(of: origin), let named = self.host(in: origin, from: authority),
            let asked = self.host(in: host, from: 0), named.count == asked.count
        else { return false }
        for offset in 0..<named.count {
            let (one, other) = (origin[named.lowerBound + offset], host[asked.lowerBound + offset])
            guard one.asciiLowercase == other.asciiLowercase else { return false }
        }
        return true
    }

    /// Where it goes on behind `scheme://`.
    private static func authority(of origin: Span<UInt8>) -> Int? {
        var colon = 0
        while colon < origin.count, origin[colon].isInSchemes { colon += 1 }
        guard colon > 0, origin[0].isLetter, origin.count >= colon + 3,
            origin.extracting(colon..<(colon + 3)).equals("://")
        else { return nil }
        return colon + 3
    }

    /// The host of `HOST`, `HOST:PORT` or `[IPv6]:PORT`; `nil` if it is anything else.
    private static func host(in text: Span<UInt8>, from start: Int) -> Range<Int>? {
        var end = start
        if start < text.count, text[start] == UInt8(ascii: "[") {
            end += 1
            while end < text.count, text[end].isInBrackets { end += 1 }
            guard end > start + 1, end < text.count, text[end] == UInt8(ascii: "]") else { return nil }
            end += 1
        } else {
            while end < text.count, text[end].isInHostNames { end += 1 }
            guard end > start else { return nil }
        }
        guard end - start <= maximumHost, end == text.count || text[end] == UInt8(ascii: ":"), text.count - end <= 6
        else { return nil }
        var digit = end + 1
        while digit < text.count {
            guard text[digit].isDigit else { return nil }
            digit += 1
        }
        return start..<end
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
