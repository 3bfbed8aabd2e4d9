// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

extension Origin {
    /// The relying party ID that this origin may use: its host, or a parent of it that is not a public suffix.
    ///
    /// This check is what makes passkeys safe from phishing, and nobody repeats it: the phone believes the
    /// relying party ID it is sent. The rule is HTML's *is a registrable domain suffix of or is equal to*.
    ///
    /// - Parameter claimed: What the request says; `nil` means the host.
    public func relyingPartyID(claimed: String?) throws(RelyingPartyIDError) -> RelyingPartyID {
        guard let claimed else { return host }
        guard let id = RelyingPartyID(claimed) else { throw .notADomain }
        if id == host { return id }
        guard host.text.hasSuffix("." + id.text) else { throw .notOfOrigin(id, self) }
        guard let list = PublicSuffixList() else { throw .noPublicSuffixList }
        guard list.suffix(of: id.text) != id.text else { throw .publicSuffix(id) }
        // A parent of a public suffix is no better, even if no rule names it.
        guard !list.suffix(of: host.text).hasSuffix("." + id.text) else { throw .publicSuffix(id) }
        return id
    }
}

/// Why an origin may not use a relying party ID.
public enum RelyingPartyIDError: Error, Equatable, Sendable {
    /// It is not a lower-case domain in A-label form.
    case notADomain
    /// It is neither the origin's host nor a parent of it.
    case notOfOrigin(RelyingPartyID, Origin)
    /// Strangers can register names below it.
    case publicSuffix(RelyingPartyID)
    /// This system has no public suffix list, so no parent domain can be allowed.
    case noPublicSuffixList

    /// What a browser would throw (WebAuthn Level 3 §5.1.3, step 8, and §5.1.4, step 6).
    public var name: WebAuthnErrorName { .securityError }

    /// What is wrong and what to do.
    public var sentence: String {
        switch self {
        case .notADomain: "the relying party ID must be a lower-case domain name, in its xn-- form"
        case .notOfOrigin(let id, let origin):
            "\(origin.text) may not use the relying party ID \(id.text); it must be its host or a parent of it"
        case .publicSuffix(let id): "\(id.text) can't be a relying party ID, because anybody can register below it"
        case .noPublicSuffixList: "there is no public suffix list; install the package publicsuffix"
        }
    }
}
