// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
internal import HybridPrimitives
public import HybridWebAuthn

/// A website that registers passkeys and accepts sign-ins with them.
///
/// A value holds the rules only. Accounts, credentials and sessions stay with its user, and no method performs I/O.
public struct RelyingParty: Sendable {
    /// Algorithms whose signatures this library verifies, in order of preference.
    public static let supportedAlgorithms: [COSEAlgorithm] = [
        .es256, .esp256, .edDSA, COSEAlgorithm(rawValue: -35), COSEAlgorithm(rawValue: -36), .rs256,
    ]

    /// Domain to which passkeys are bound.
    public let id: RelyingPartyID
    /// Name for users, which clients may show.
    public let name: String
    /// Origins of pages that may register and sign in, related origins included.
    public let origins: Set<Origin>
    /// Origins outside the domain ``id``, in the order in which `/.well-known/webauthn` lists them.
    public let relatedOrigins: [Origin]
    /// Origins of other sites whose pages may show these pages in a frame; empty to accept no frames of other sites.
    public var topOrigins: Set<Origin> = []
    /// Requirement for user verification; `required` also rejects responses without flag UV.
    public var userVerification = UserVerificationRequirement.required
    /// Acceptable algorithms in order of preference.
    ///
    /// Algorithms outside ``supportedAlgorithms`` are not requested.
    public var algorithms: [COSEAlgorithm] = [.es256, .edDSA, .rs256]
    /// Policy for attestation.
    public var attestation = AttestationPolicy.notRequested
    /// Time that clients should allow for a ceremony; also a suitable lifetime of challenges.
    public var timeout = Duration.seconds(300)

    /// Creates a relying party.
    ///
    /// - Parameters:
    ///   - id: Domain of the website.
    ///   - name: Name for users.
    ///   - origins: Origins of the website's pages; their hosts are the domain or below it.
    ///   - relatedOrigins: Origins outside the domain that may use its passkeys (WebAuthn Level 3 §5.11). Clients
    ///     consider at most five different labels before the public suffix, in this order.
    /// - Throws: `RelyingPartyIDError` if an element of `origins` may not use the domain without being related.
    public init(
        id: RelyingPartyID,
        name: String,
        origins: [Origin],
        relatedOrigins: [Origin] = []
    ) throws(RelyingPartyIDError) {
        for origin in origins { _ = try origin.relyingPartyID(claimed: id.text) }
        self.id = id
        self.name = name
        self.origins = Set(origins + relatedOrigins)
        self.relatedOrigins = relatedOrigins
    }

    /// The content of `https://{id}/.well-known/webauthn`, to be served as `application/json` (§5.11).
    public var relatedOriginsJSON: [UInt8] {
        let list = JSONText.object([("origins", .array(relatedOrigins.map { .string($0.text) }))])
        return Array(list.serialized(.terminalSafe).utf8)
    }

    /// The acceptable algorithms whose signatures can be verified.
    var requestedAlgorithms: [COSEAlgorithm] { algorithms.filter(Self.supportedAlgorithms.contains) }
}

/// The attestation that a relying party requests, and the authenticators that it trusts.
public struct AttestationPolicy: Sendable {
    /// Preference that the client receives.
    public var conveyance: AttestationConveyance
    /// Certificates in DER that end the chain of a trusted authenticator: roots, or the authenticator's own.
    public var roots: [[UInt8]]
    /// True to reject authenticators whose attestation has no chain to ``roots``.
    public var requiresTrust: Bool

    /// No attestation, the right choice for most websites.
    public static let notRequested = AttestationPolicy(conveyance: .none)

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - conveyance: Preference that the client receives.
    ///   - roots: Certificates in DER.
    ///   - requiresTrust: True to reject other authenticators.
    public init(conveyance: AttestationConveyance, roots: [[UInt8]] = [], requiresTrust: Bool = false) {
        self.conveyance = conveyance
        self.roots = roots
        self.requiresTrust = requiresTrust
    }
}
