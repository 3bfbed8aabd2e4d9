// SPDX-License-Identifier: Apache-2.0

internal import CHybridPSL
public import HybridCTAP
public import HybridPrimitives

extension Origin {
    /// Returns the relying party ID: the origin's host, or a parent domain that is not a public suffix.
    ///
    /// This check protects passkeys from phishing. The phone does not repeat it, but trusts the relying party ID in the
    /// request. The rule is HTML's *is a registrable domain suffix of or is equal to*.
    ///
    /// - Parameters:
    ///   - claimed: Relying party ID of the request; `nil` means the host of the origin.
    ///   - related: A permission of the relying party for an origin of another domain.
    public func relyingPartyID(
        claimed: String?,
        related: RelatedOrigin? = nil
    ) throws(RelyingPartyIDError) -> RelyingPartyID {
        if let claimed, let related, related.origin == self, related.relyingPartyID.text == claimed {
            return related.relyingPartyID
        }
        guard let claimed else { return host }
        guard let id = RelyingPartyID(claimed) else { throw .notADomain }
        if id == host { return id }
        guard host.text.hasSuffix("." + id.text) else { throw .notOfOrigin(id, self) }
        guard let list = PublicSuffixList() else { throw .noPublicSuffixList }
        guard list.suffix(of: id.text) != id.text else { throw .publicSuffix(id) }
        // A parent domain of a public suffix is also rejected, even if no rule lists that parent.
        guard !list.suffix(of: host.text).hasSuffix("." + id.text) else { throw .publicSuffix(id) }
        return id
    }
}

extension RelyingPartyID {
    /// Returns true if the domain is a public suffix, such as `co.uk`, which browsers refuse as an ID.
    ///
    /// - Throws: ``RelyingPartyIDError/noPublicSuffixList``.
    public func isPublicSuffix() throws(RelyingPartyIDError) -> Bool {
        guard let list = PublicSuffixList() else { throw .noPublicSuffixList }
        return list.suffix(of: text) == text
    }

    /// Returns true if the domain is below a registrable domain: it has at least two labels before a public suffix.
    ///
    /// - Throws: ``RelyingPartyIDError/noPublicSuffixList``.
    public func isBelowRegistrableDomain() throws(RelyingPartyIDError) -> Bool {
        guard let list = PublicSuffixList() else { throw .noPublicSuffixList }
        func labels(_ domain: String) -> Int { domain.utf8.count { $0 == UInt8(ascii: ".") } + 1 }
        return labels(text) >= labels(list.suffix(of: text)) + 2
    }
}

/// A reason why an origin may not use a relying party ID (WebAuthn Level 3 §5.1.3, step 8, and §5.1.4, step 6).
public struct RelyingPartyIDError: WebAuthnFailure, Hashable {
    /// The ID is not a lower-case domain in A-label form.
    public static let notADomain = Self("the relying party ID must be a lower-case domain name, in its xn-- form")
    /// This system has no public suffix list, so parent domains of the host are rejected.
    public static let noPublicSuffixList = Self("there is no public suffix list; install the package publicsuffix")

    /// Cause and remedy.
    public let sentence: String
    /// The ID that ``RelatedOrigins`` of its domain may allow the origin to use; `nil` after other errors.
    public let relatedID: RelyingPartyID?
    /// The name `SecurityError`.
    public var name: WebAuthnErrorName { .securityError }
    /// The code `request-unusable`.
    public var code: String { "request-unusable" }
    /// The exit status for malformed data.
    public var status: ExitStatus { .dataError }

    private init(_ sentence: String, relatedID: RelyingPartyID? = nil) {
        (self.sentence, self.relatedID) = (sentence, relatedID)
    }

    /// The ID is neither the origin's host nor a parent of it.
    public static func notOfOrigin(_ id: RelyingPartyID, _ origin: Origin) -> RelyingPartyIDError {
        Self(
            "\(origin.text) is not permitted to use the relying party ID \(id.text); it must be its host or a parent "
                + "of it",
            relatedID: id
        )
    }
    /// Anyone can register names below the ID.
    public static func publicSuffix(_ id: RelyingPartyID) -> RelyingPartyIDError {
        Self(
            "\(id.text) cannot be a relying party ID, because anyone can register names below it",
            relatedID: id
        )
    }
    /// The file of the ID's related origins does not list the origin.
    public static func notRelated(_ id: RelyingPartyID, _ origin: Origin) -> RelyingPartyIDError {
        Self(
            "\(origin.text) is not permitted to use the relying party ID \(id.text), because "
                + "\(RelatedOrigins.url(of: id)) does not list it; use the origin that made the request"
        )
    }
    /// The file of the ID's related origins can't be retrieved or read; `reason` is a clause without a period.
    public static func noRelatedOrigins(
        _ id: RelyingPartyID,
        _ origin: Origin,
        _ reason: String
    ) -> RelyingPartyIDError {
        Self(
            "\(origin.text) is not permitted to use the relying party ID \(id.text), because "
                + "\(RelatedOrigins.url(of: id)) is unusable: \(reason); use the origin that made the request"
        )
    }
}

/// The list of domains under which anyone can register names, such as `com`, `co.uk` and `github.io`.
///
/// Each instance loads the newer one of the system's list and libpsl's built-in list. Threads share no state.
struct PublicSuffixList: ~Copyable {
    private let list: OpaquePointer

    /// Creates an instance by loading the list; `nil` if this system has none.
    init?() {
        guard let list = psl_latest(nil) ?? psl_builtin() else { return nil }
        self.list = list
    }

    // This call has no effect for libpsl's built-in list.
    deinit { psl_free(list) }

    /// Returns the longest public suffix of a lower-case A-label domain; its last label if no rule matches.
    func suffix(of domain: String) -> String {
        domain.withCString { name in
            psl_unregistrable_domain(list, name).map { String(cString: $0) } ?? domain
        }
    }
}
