// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
internal import HybridPrimitives

/// The contents of `/.well-known/webauthn`: origins of other domains that may use a relying party ID.
///
/// The origins may belong to at most ``maximumLabels`` names, such as `example` in `example.com` and `example.co.uk`
/// (WebAuthn Level 3 §5.11).
public struct RelatedOrigins: Hashable, Sendable {
    /// Maximum length of the file in bytes.
    public static let maximumBytes = 64 * 1024
    /// Maximum number of names whose origins count; origins of further names are ignored.
    public static let maximumLabels = 5

    private let texts: [String]

    /// Creates the list from a file: strict JSON, an object whose member `origins` is an array of strings.
    ///
    /// - Throws: ``ParseError``.
    public init(json: [UInt8]) throws(ParseError) {
        guard json.count <= Self.maximumBytes else { throw .tooLong }
        let document: JSONText
        do throws(JSONSyntaxError) {
            document = try JSONText(parsing: json, mayBeMarked: true)
        } catch {
            throw ParseError(reason: error.reason)
        }
        guard let elements = document.member("origins")?.elements else { throw .noOrigins }
        texts = elements.compactMap(\.text)
        guard texts.count == elements.count else { throw .noOrigins }
    }

    /// Returns the permission for an origin.
    ///
    /// - Parameters:
    ///   - origin: The calling origin.
    ///   - id: The relying party ID whose domain serves this file.
    /// - Throws: ``RelyingPartyIDError/notRelated(_:_:)``, ``RelyingPartyIDError/noPublicSuffixList``.
    public func permission(
        for origin: Origin,
        _ id: RelyingPartyID
    ) throws(RelyingPartyIDError) -> RelatedOrigin {
        guard let list = PublicSuffixList() else { throw .noPublicSuffixList }
        var labels: Set<String> = []
        for text in texts {
            guard let listed = ListedOrigin(text), let label = listed.registrableLabel(list) else { continue }
            guard labels.count < Self.maximumLabels || labels.contains(label) else { continue }
            if listed.text == origin.text { return RelatedOrigin(origin: origin, relyingPartyID: id) }
            labels.insert(label)
        }
        throw .notRelated(id, origin)
    }

    /// The path of the file at the domain of a relying party ID.
    public static let path = "/.well-known/webauthn"

    /// Returns the URL of the file of a relying party ID.
    public static func url(of id: RelyingPartyID) -> String { "https://\(id.text)\(path)" }

    /// A reason why a file is unusable.
    public struct ParseError: Error, Hashable, Sendable {
        /// The file is longer than ``RelatedOrigins/maximumBytes``.
        public static let tooLong = ParseError(reason: "it is longer than 64 KiB")
        /// The file is not an object with an array of strings.
        public static let noOrigins = ParseError(reason: "it has no list of strings named origins")

        /// A clause for a sentence; it contains no part of the file.
        public let reason: String

        init(reason: String) { self.reason = reason }
    }
}

/// A relying party's permission for an origin of another domain, which only ``RelatedOrigins`` grants.
public struct RelatedOrigin: Hashable, Sendable {
    /// The origin that may use the ID.
    public let origin: Origin
    /// The relying party ID.
    public let relyingPartyID: RelyingPartyID

    fileprivate init(origin: Origin, relyingPartyID: RelyingPartyID) {
        (self.origin, self.relyingPartyID) = (origin, relyingPartyID)
    }
}

/// An origin in the file, parsed as a URL as in browsers; paths and user names are ignored.
///
/// Names outside ASCII are skipped, because their `xn--` form needs the tables of IDNA.
private struct ListedOrigin {
    /// The serialized origin, comparable with `Origin.text`.
    let text: String
    /// The domain in lower case, without a trailing dot.
    private let domain: String

    private static let defaultPorts: [String: UInt16] = ["https": 443, "http": 80, "wss": 443, "ws": 80, "ftp": 21]

    init?(_ text: String) {
        // The URL parser removes these characters (WHATWG URL §4.4).
        var bytes = Array(text.utf8.drop { $0 <= 0x20 })
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        bytes.removeAll { $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
        // URLs of other schemes have opaque origins.
        guard let defaultPort = Self.defaultPorts[scheme] else { return nil }
        var authority = bytes[(colon + 1)...].drop(while: Self.isSlash)
        authority = authority.prefix { !Self.isSlash($0) && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[(at + 1)...] }
        let parts = authority.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let host = parts.first, host.allSatisfy(Self.isNameByte) else { return nil }
        let name = String(decoding: host, as: UTF8.self).lowercased()
        let domain = name.hasSuffix(".") ? String(name.dropLast()) : name
        guard Self.isDomain(domain) else { return nil }
        var serialized = "\(scheme)://\(name)"
        if parts.count == 2, !parts[1].isEmpty {
            guard parts[1].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let port = UInt16(String(decoding: parts[1], as: UTF8.self))
            else { return nil }
            if port != defaultPort { serialized += ":\(port)" }
        }
        (self.text, self.domain) = (serialized, domain)
    }

    /// Returns the first label of the registrable domain; `nil` if the domain is a public suffix.
    func registrableLabel(_ list: borrowing PublicSuffixList) -> String? {
        let suffix = list.suffix(of: domain)
        guard domain.hasSuffix("." + suffix) else { return nil }
        return domain.dropLast(suffix.utf8.count + 1).split(separator: ".").last.map(String.init)
    }

    private static func isDomain(_ name: String) -> Bool {
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...253).contains(name.utf8.count), let last = labels.last else { return false }
        // Addresses have no registrable domain.
        let isNumber = last.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return labels.allSatisfy { (1...63).contains($0.count) } && !isNumber && !last.starts(with: "0x".utf8)
    }

    private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
