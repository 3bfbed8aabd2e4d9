// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP
internal import HybridPrimitives

/// A registration or sign-in, from the website's options to the response for its server.
public enum Ceremony: Equatable, Sendable {
    /// A registration.
    case creation(CreationCeremony)
    /// A sign-in.
    case request(RequestCeremony)

    /// Creates a ceremony from options and the origin of the page that passed them.
    ///
    /// - Parameters:
    ///   - options: Options of the website.
    ///   - origin: Origin of the calling page.
    ///   - topOrigin: Origin of the top-level page, if the calling page is a frame of another origin.
    ///   - related: The relying party's permission for an origin of another domain.
    /// - Throws: ``RelyingPartyIDError`` if the origin may not use the relying party ID.
    public init(
        _ options: PublicKeyOptions,
        origin: Origin,
        topOrigin: Origin? = nil,
        related: RelatedOrigin? = nil
    ) throws(RelyingPartyIDError) {
        switch options {
        case .creation(let options):
            self = .creation(try CreationCeremony(options, origin: origin, topOrigin: topOrigin, related: related))
        case .request(let options):
            self = .request(try RequestCeremony(options, origin: origin, topOrigin: topOrigin, related: related))
        }
    }

    /// The request for a phone that supports all features that the website requests.
    public var ctapRequest: CTAPRequest {
        switch self {
        case .creation(let ceremony): .makeCredential(ceremony.ctapRequest)
        case .request(let ceremony): .getAssertion(ceremony.ctapRequest)
        }
    }

    /// Returns the request for a phone with this description.
    ///
    /// - Throws: ``MissingAbility`` if the phone lacks a feature that the website requires.
    public func ctapRequest(for phone: AuthenticatorInfo) throws(MissingAbility) -> CTAPRequest {
        switch self {
        case .creation(let ceremony): .makeCredential(try ceremony.ctapRequest(for: phone))
        case .request(let ceremony): .getAssertion(try ceremony.ctapRequest(for: phone))
        }
    }

    /// The website's timeout, limited to a range of 10 seconds to 10 minutes as in browsers (§5.1.3, step 5).
    public var timeout: Duration? {
        let milliseconds =
            switch self {
            case .creation(let ceremony): ceremony.options.timeoutMilliseconds
            case .request(let ceremony): ceremony.options.timeoutMilliseconds
            }
        return milliseconds.map { .milliseconds(min(max($0, 10_000), 600_000)) }
    }

    /// The relying party ID, which the origin is allowed to use.
    public var relyingPartyID: RelyingPartyID {
        switch self {
        case .creation(let ceremony): ceremony.ctapRequest.relyingParty.id
        case .request(let ceremony): ceremony.ctapRequest.relyingPartyID
        }
    }

    /// Checks the body of a successful `CTAPResponse` and returns the JSON for the website's server.
    ///
    /// The result is a `RegistrationResponseJSON` or `AuthenticationResponseJSON` without a trailing newline.
    ///
    /// - Parameters:
    ///   - body: The CBOR that the phone sent.
    ///   - phone: Description of the phone, which determines the request and the transports.
    public func responseJSON(body: [UInt8], phone: AuthenticatorInfo) throws(ResponseCheckError) -> [UInt8] {
        switch self {
        case .creation(let ceremony):
            try ceremony.responseJSON(
                from: Self.parsed(body, MakeCredentialResponse.init(parsing:)),
                statement: MakeCredentialResponse.encodedStatement(in: body),
                phone: phone
            )
        case .request(let ceremony):
            try ceremony.responseJSON(from: Self.parsed(body, GetAssertionResponse.init(parsing:)), phone: phone)
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

extension JSONText {
    /// Returns a `RegistrationResponseJSON` or `AuthenticationResponseJSON` in UTF-8.
    static func credential(
        id: CredentialID,
        response: [(String, JSONText)],
        extensionResults: [(String, JSONText)]
    ) -> [UInt8] {
        let object = JSONText.object([
            ("id", .bytes(id.bytes)),
            ("rawId", .bytes(id.bytes)),
            ("response", .object(response)),
            ("authenticatorAttachment", .string("cross-platform")),
            ("clientExtensionResults", .object(extensionResults)),
            ("type", .string(CredentialDescriptor.publicKeyType)),
        ])
        return Array(object.serialized(.clientData).utf8)
    }
}
