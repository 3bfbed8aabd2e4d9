// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// A command with its parameters, sent from a client to an authenticator (CTAP 2.2 §6).
///
/// Client and authenticator speak CTAP once their encrypted channel is open. One request is answered by one
/// ``CTAPResponse``:
///
/// 1. The authenticator describes itself with ``AuthenticatorInfo``.
/// 2. The client sends ``MakeCredentialRequest`` to register or ``GetAssertionRequest`` to sign in. Both contain the
///    hash of the client data and a relying party ID that the client has checked.
/// 3. The authenticator asks its user. It answers with ``MakeCredentialResponse`` or ``GetAssertionResponse``, which
///    contain ``AuthenticatorData``, or with a ``CTAPStatus`` that gives the reason for a failure.
///
/// Neither side trusts the other's bytes. Output is always CTAP2 canonical, because some phones end the session if a
/// key is out of order. Input may have map keys in any order and long forms of lengths. Duplicate keys, indefinite
/// lengths and trailing bytes are rejected; unknown keys are ignored.
public enum CTAPRequest: Equatable, Sendable {
    /// Registers a new credential.
    case makeCredential(MakeCredentialRequest)
    /// Signs in with a credential.
    case getAssertion(GetAssertionRequest)
    /// Returns a description of the authenticator.
    case getInfo
    /// Lets the user select this authenticator.
    case selection

    /// Reads a command byte and its parameters.
    ///
    /// - Throws: ``CTAPRequestError`` with the status for the response.
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

    /// The command byte.
    public var command: CTAPCommand {
        switch self {
        case .makeCredential: .makeCredential
        case .getAssertion: .getAssertion
        case .getInfo: .getInfo
        case .selection: .selection
        }
    }

    /// The command byte, followed by the canonical CBOR of the parameters if the command has any.
    public var encoded: [UInt8] {
        switch self {
        case .makeCredential(let request): [command.rawValue] + CBOREncoder.encode(request.parameters)
        case .getAssertion(let request): [command.rawValue] + CBOREncoder.encode(request.parameters)
        case .getInfo, .selection: [command.rawValue]
        }
    }

    /// Bounds for credential lists that fill the largest message: a credential ID of 32 bytes takes 58 bytes and 5 items.
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

/// The command byte of a request: the commands of a hybrid ceremony (CTAP 2.2 §6).
public enum CTAPCommand: UInt8, CaseIterable, Sendable {
    /// `authenticatorMakeCredential`.
    case makeCredential = 0x01
    /// `authenticatorGetAssertion`.
    case getAssertion = 0x02
    /// `authenticatorGetInfo`. Phones send its response right after the handshake, without a request.
    case getInfo = 0x04
    /// `authenticatorSelection`. Phones drop the connection on it, so a client never sends it.
    case selection = 0x0B
}

/// A reason why a request cannot be carried out.
public struct CTAPRequestError: Error, Equatable, Sendable {
    /// Status of the response.
    public let status: CTAPStatus
    /// Name of the invalid parameter, such as `rp.id`, if there is one.
    public let field: String?

    /// Creates an error from the status of the response and the parameter that caused it.
    public init(status: CTAPStatus, field: String?) {
        self.status = status
        self.field = field
    }
}

extension CTAPRequestError: FieldFailure {
    static func missing(_ member: String) -> Self { Self(status: .missingParameter, field: member) }
    static func wrongType(_ member: String) -> Self { Self(status: .cborUnexpectedType, field: member) }
    static func wrongLength(_ member: String) -> Self { Self(status: .invalidLength, field: member) }
    static func invalid(_ member: String) -> Self { Self(status: .invalidParameter, field: member) }
}
