// SPDX-License-Identifier: Apache-2.0

/// The result of comparing a request's `Origin` with its `Host`.
///
/// Only the hosts are compared, and case is ignored. A relay behind a load balancer knows neither the scheme nor the
/// port of the client's connection, and clients send `wss://` as well as `https://`. Browsers send the field and pages
/// cannot forge it, so the check rejects pages of other sites. Other programs can send any value.
public enum OriginCheck: Hashable, Sendable {
    /// There is no `Origin`, so the request comes from an app, not from a browser.
    case absent
    /// A single `Origin` names the host of the request.
    case sameHost
    /// `Origin` names another host or none (`null`), is malformed, or occurs more than once.
    case otherHost

    /// Maximum length of a host in bytes (RFC 1035 §2.3.4).
    private static let maximumHost = 255

    /// Creates the result of comparing all `Origin` fields with `Host`.
    init(origins: [ArraySlice<UInt8>], host: ArraySlice<UInt8>) {
        guard let origin = origins.first else {
            self = .absent
            return
        }
        self = origins.count == 1 && Self.matches(origin.span, host.span) ? .sameHost : .otherHost
    }

    /// Returns true for `HOST`, `HOST:PORT` or `[IPv6]:PORT`.
    static func isHost(_ text: ArraySlice<UInt8>) -> Bool { host(in: text.span, from: 0) != nil }

    /// Returns true if an origin names the same host as a `Host` field.
    private static func matches(_ origin: Span<UInt8>, _ host: Span<UInt8>) -> Bool {
        guard let authority = authority(of: origin), let originHost = self.host(in: origin, from: authority),
            let ownHost = self.host(in: host, from: 0), originHost.count == ownHost.count
        else { return false }
        for offset in 0..<originHost.count {
            let (one, other) = (origin[originHost.lowerBound + offset], host[ownHost.lowerBound + offset])
            guard one.asciiLowercase == other.asciiLowercase else { return false }
        }
        return true
    }

    /// Returns the index after `scheme://`; `nil` if the origin does not begin with it.
    private static func authority(of origin: Span<UInt8>) -> Int? {
        var colon = 0
        while colon < origin.count, origin[colon].isInSchemes { colon += 1 }
        guard colon > 0, origin[0].isLetter, origin.count >= colon + 3,
            origin.extracting(colon..<(colon + 3)).equals("://")
        else { return nil }
        return colon + 3
    }

    /// Returns the range of the host in `HOST`, `HOST:PORT` or `[IPv6]:PORT`; `nil` for other forms.
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
    /// True for a character of a URI scheme (RFC 3986 §3.1).
    fileprivate var isInSchemes: Bool {
        isLetter || isDigit || self == UInt8(ascii: "+") || self == UInt8(ascii: "-") || self == UInt8(ascii: ".")
    }

    /// True for letters, digits, dots and hyphens, and for the underscores of some host names.
    fileprivate var isInHostNames: Bool {
        isLetter || isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: ".") || self == UInt8(ascii: "_")
    }

    fileprivate var isInBrackets: Bool {
        isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20) || self == UInt8(ascii: ":")
            || self == UInt8(ascii: ".")
    }
}
