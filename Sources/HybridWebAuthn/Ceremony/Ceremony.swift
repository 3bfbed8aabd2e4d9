// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// One registration or sign-in, from the website's options to the answer for its server.
public enum Ceremony: Equatable, Sendable {
    /// A registration.
    case creation(CreationCeremony)
    /// A sign-in.
    case request(RequestCeremony)

    /// Joins options with the origin they came from.
    ///
    /// - Parameter topOrigin: The window's own page, if the page that asks is a frame in one of another origin.
    /// - Throws: ``RelyingPartyIDError`` if that origin may not use the relying party ID.
    public init(
        _ options: PublicKeyOptions,
        origin: Origin,
        topOrigin: Origin? = nil
    ) throws(RelyingPartyIDError) {
        switch options {
        case .creation(let options):
            self = .creation(try CreationCeremony(options, origin: origin, topOrigin: topOrigin))
        case .request(let options):
            self = .request(try RequestCeremony(options, origin: origin, topOrigin: topOrigin))
        }
    }

    /// What to ask a phone that can do all that is asked for.
    public var ctapRequest: CTAPRequest {
        switch self {
        case .creation(let ceremony): .makeCredential(ceremony.ctapRequest)
        case .request(let ceremony): .getAssertion(ceremony.ctapRequest)
        }
    }

    /// What to ask a phone that has introduced itself.
    ///
    /// - Throws: ``MissingAbility`` if the website insists on what that phone lacks.
    public func ctapRequest(for phone: AuthenticatorInfo) throws(MissingAbility) -> CTAPRequest {
        switch self {
        case .creation(let ceremony): .makeCredential(try ceremony.ctapRequest(for: phone))
        case .request(let ceremony): .getAssertion(try ceremony.ctapRequest(for: phone))
        }
    }

    /// How long the website waits; within the ten seconds and ten minutes that browsers allow (§5.1.3, step 5).
    public var timeout: Duration? {
        let milliseconds =
            switch self {
            case .creation(let ceremony): ceremony.options.timeoutMilliseconds
            case .request(let ceremony): ceremony.options.timeoutMilliseconds
            }
        return milliseconds.map { .milliseconds(min(max($0, 10_000), 600_000)) }
    }

    /// For whom, after all checks.
    public var relyingPartyID: RelyingPartyID {
        switch self {
        case .creation(let ceremony): ceremony.ctapRequest.relyingParty.id
        case .request(let ceremony): ceremony.ctapRequest.relyingPartyID
        }
    }

    /// Checks the body of a successful ``CTAPResponse`` and writes `RegistrationResponseJSON` or
    /// `AuthenticationResponseJSON`, without a newline at the end.
    ///
    /// - Parameters:
    ///   - body: CBOR as the phone sent it.
    ///   - phone: How the phone introduced itself: what it was asked, and how it can be reached.
    public func responseJSON(body: [UInt8], phone: AuthenticatorInfo) throws(ResponseCheckError) -> [UInt8] {
        switch self {
        case .creation(let ceremony):
            try ceremony.responseJSON(
                from: Self.parsed(body, MakeCredentialResponse.init(parsing:)),
                statement: MakeCredentialResponse.encodedStatement(in: body),
                phone: phone
            )
        case .request(let ceremony):
            try ceremony.responseJSON(from: Self.parsed(body, GetAssertionResponse.init(parsing:)))
        }
    }

    private static func parsed<Response>(
        _ body: [UInt8],
        _ parse: ([UInt8]) throws(CTAPResponseError) -> Response
    ) throws(ResponseCheckError) -> Response {
        do throws(CTAPResponseError) {
            return try parse(body)
        } catch {
            throw .malformed(error)
        }
    }
}
