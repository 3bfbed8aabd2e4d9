// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// A command with its parameters, sent from a client to an authenticator (CTAP 2.2 §6).
///
/// Client and authenticator exchange CTAP messages once their encrypted channel is open. The authenticator answers each
/// request with one ``CTAPResponse``:
///
/// 1. The authenticator describes itself with ``AuthenticatorInfo``.
/// 2. The client sends ``MakeCredentialRequest`` to register or ``GetAssertionRequest`` to sign in. Both contain the
///    hash of the client data and a relying party ID that the client has checked.
/// 3. The authenticator asks its user. It answers with ``MakeCredentialResponse`` or ``GetAssertionResponse``, which
///    contain ``AuthenticatorData``, or with a ``CTAPStatus`` that gives the reason for a failure.
///
/// Output is always in CTAP2 canonical form, because some phones end the session if a key is out of order. Input is
/// untrusted, but may have map keys in any order and long forms of integers and lengths. Duplicate keys, indefinite
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

    /// Creates a request from a command byte and its parameters.
    ///
    /// - Parameters:
    ///   - bytes: The command byte and its CBOR.
    ///   - kinds: The acceptable kinds of relying parties; domains only by default.
    /// - Throws: ``CTAPRequestError`` with the status to send in the response.
    public init(
        parsing bytes: [UInt8],
        accepting kinds: Set<RelyingPartyID.Kind> = [.domain]
    ) throws(CTAPRequestError) {
        guard let first = bytes.first else { throw CTAPRequestError(status: .invalidLength, field: nil) }
        guard let command = CTAPCommand(rawValue: first) else {
            throw CTAPRequestError(status: .invalidCommand, field: nil)
        }
        switch command {
        case .makeCredential:
            self = .makeCredential(try MakeCredentialRequest(parsing: Self.parameters(bytes), accepting: kinds))
        case .getAssertion:
            self = .getAssertion(try GetAssertionRequest(parsing: Self.parameters(bytes), accepting: kinds))
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

    /// Returns the request without some extensions, unless an authenticator lists them in its description.
    ///
    /// - Parameters:
    ///   - names: The names of the extensions; others stay.
    ///   - info: The description of the authenticator.
    public func without(_ names: Set<String>, unlessListedIn info: AuthenticatorInfo) -> CTAPRequest {
        func known(_ extensions: CBORMap?) -> CBORMap? {
            guard var map = extensions else { return nil }
            for name in names where !info.extensions.contains(name) { map[.text(name)] = nil }
            return map.isEmpty ? nil : map
        }
        switch self {
        case .makeCredential(var request):
            request.extensions = known(request.extensions)
            return .makeCredential(request)
        case .getAssertion(var request):
            request.extensions = known(request.extensions)
            return .getAssertion(request)
        case .getInfo, .selection: return self
        }
    }

    /// Limits that allow credential lists that fill the largest message.
    ///
    /// A list entry with a 32-byte credential ID takes 58 bytes and 5 items.
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
    /// `authenticatorSelection`. Phones close the connection when they receive it, so a client never sends it.
    case selection = 0x0B
}

/// A reason why a request cannot be carried out.
public struct CTAPRequestError: Error, Equatable, Sendable {
    /// The status to send in the response.
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
