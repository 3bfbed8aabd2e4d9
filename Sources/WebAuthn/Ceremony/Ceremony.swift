// SPDX-License-Identifier: Apache-2.0

public import CTAP

/// One registration or sign-in, from the website's options to the answer for its server.
public enum Ceremony: Equatable, Sendable {
    /// A registration.
    case creation(CreationCeremony)
    /// A sign-in.
    case request(RequestCeremony)

    /// Joins options with the origin they came from.
    ///
    /// - Throws: ``RelyingPartyIDError`` if that origin may not use the relying party ID.
    public init(_ options: PublicKeyOptions, origin: Origin) throws(RelyingPartyIDError) {
        switch options {
        case .creation(let options): self = .creation(try CreationCeremony(options, origin: origin))
        case .request(let options): self = .request(try RequestCeremony(options, origin: origin))
        }
    }

    /// What to ask the phone.
    public var ctapRequest: CTAPRequest {
        switch self {
        case .creation(let ceremony): .makeCredential(ceremony.ctapRequest)
        case .request(let ceremony): .getAssertion(ceremony.ctapRequest)
        }
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
    ///   - transports: How the phone says it can be reached, from its ``AuthenticatorInfo``.
    public func responseJSON(body: [UInt8], transports: [String]) throws(ResponseCheckError) -> [UInt8] {
        switch self {
        case .creation(let ceremony):
            try ceremony.responseJSON(
                from: Self.parsed(body, MakeCredentialResponse.init(parsing:)),
                transports: transports
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
