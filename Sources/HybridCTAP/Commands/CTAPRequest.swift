// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// What a client asks of an authenticator: one command with its parameters (CTAP 2.2 §6).
///
/// CTAP is the language of a hybrid ceremony once the channel is up. The *client* (the desktop) writes a
/// request, the *authenticator* (the phone) answers with a ``CTAPResponse``, one of each at a time:
///
/// 1. The authenticator introduces itself with ``AuthenticatorInfo``.
/// 2. The client sends ``MakeCredentialRequest`` to register, or ``GetAssertionRequest`` to sign in. Both carry
///    only the hash of what the website wants signed, and the relying party ID that the client has checked.
/// 3. The authenticator asks its user, and answers with ``MakeCredentialResponse`` or
///    ``GetAssertionResponse``, both around ``AuthenticatorData``; or with a ``CTAPStatus`` that says why not.
///
/// Neither side trusts the other's bytes. What is written here is always CTAP2 canonical, because some phones
/// end the session over a misplaced key. What is read may have map keys in any order and long forms of
/// lengths; duplicate keys, indefinite lengths and trailing bytes are refused, unknown keys are ignored.
public enum CTAPRequest: Equatable, Sendable {
    /// Register a new credential.
    case makeCredential(MakeCredentialRequest)
    /// Sign in with a credential.
    case getAssertion(GetAssertionRequest)
    /// Say what the authenticator is.
    case getInfo
    /// Let the user choose this authenticator.
    case selection

    /// Reads a command byte and its parameters.
    ///
    /// - Throws: ``CTAPRequestError``, which carries the status to answer with.
    public init(parsing bytes: [UInt8]) throws(CTAPRequestError) {
        guard let first = bytes.first else { throw CTAPRequestError(status: .invalidLength, field: nil) }
        guard let command = CTAPCommand(rawValue: first) else {
            throw CTAPRequestError(status: .invalidCommand, field: nil)
        }
        switch command {
        case .makeCredential:
            self = .makeCredential(try MakeCredentialRequest(parsing: Self.parameters(bytes)))
        case .getAssertion:
            self = .getAssertion(try GetAssertionRequest(parsing: Self.parameters(bytes)))
        case .getInfo, .selection:
            guard bytes.count == 1 else { throw CTAPRequestError(status: .invalidLength, field: nil) }
            self = command == .getInfo ? .getInfo : .selection
        }
    }

    /// The command.
    public var command: CTAPCommand {
        switch self {
        case .makeCredential: .makeCredential
        case .getAssertion: .getAssertion
        case .getInfo: .getInfo
        case .selection: .selection
        }
    }

    /// The command byte and the canonical CBOR of the parameters, if the command has any.
    public var encoded: [UInt8] {
        switch self {
        case .makeCredential(let request): [command.rawValue] + CBOREncoder.encode(request.parameters)
        case .getAssertion(let request): [command.rawValue] + CBOREncoder.encode(request.parameters)
        case .getInfo, .selection: [command.rawValue]
        }
    }

    /// Room for as many credentials in a list as the largest message holds: those of 32 bytes take 58, and 5 items.
    private static let limits = CBORLimits(items: 1 << 17)

    private static func parameters(_ bytes: [UInt8]) throws(CTAPRequestError) -> CBORMap {
        let value: CBORValue
        do throws(CBORError) {
            value = try CBORDecoder.decode(bytes.dropFirst(), mode: .lenient, limits: limits)
        } catch {
            throw CTAPRequestError(status: error == .tooLarge ? .limitExceeded : .invalidCBOR, field: nil)
        }
        guard let map = value.map else { throw CTAPRequestError(status: .cborUnexpectedType, field: nil) }
        return map
    }
}

/// Why a request can't be carried out as it came.
public struct CTAPRequestError: Error, Equatable, Sendable {
    /// What to answer.
    public let status: CTAPStatus
    /// The parameter that is wrong, such as `rp.id`, if it is one.
    public let field: String?

    /// An error with the status to answer and the parameter that caused it.
    public init(status: CTAPStatus, field: String?) {
        self.status = status
        self.field = field
    }

    init(_ error: FieldError) {
        switch error {
        case .missing(let name): self.init(status: .missingParameter, field: name)
        case .wrongType(let name): self.init(status: .cborUnexpectedType, field: name)
        case .wrongLength(let name): self.init(status: .invalidLength, field: name)
        case .invalid(let name): self.init(status: .invalidParameter, field: name)
        }
    }
}
