// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// An authenticator's response: a status byte and, on success, CBOR (CTAP 2.2 §8).
public struct CTAPResponse: Equatable, Sendable {
    /// Result of the command.
    public var status: CTAPStatus
    /// The CBOR after the status byte; empty on failure.
    public var body: [UInt8]

    /// Creates a response from its parts.
    public init(status: CTAPStatus, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    /// Returns a response with this status and no body.
    public static func failure(_ status: CTAPStatus) -> CTAPResponse { CTAPResponse(status: status, body: []) }

    /// Returns a response with the status `success` and this body.
    public static func success(_ body: [UInt8]) -> CTAPResponse { CTAPResponse(status: .success, body: body) }

    /// Creates a response from a status byte and a body.
    ///
    /// - Throws: ``CTAPResponseError/empty``.
    public init(parsing bytes: [UInt8]) throws(CTAPResponseError) {
        guard let first = bytes.first else { throw .empty }
        self.init(status: CTAPStatus(rawValue: first), body: Array(bytes.dropFirst()))
    }

    /// The status byte, followed by the body.
    public var encoded: [UInt8] { [status.rawValue] + body }
}

/// A reason why an authenticator's response is unusable.
public struct CTAPResponseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The response has no bytes.
    public static let empty = CTAPResponseError("empty")
    /// The body is CBOR, but not a map.
    public static let notAMap = CTAPResponseError("notAMap")

    /// The error's name, with the member or the cause in parentheses.
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The body is not CBOR.
    public static func cbor(_ error: CBORError) -> CTAPResponseError { CTAPResponseError("cbor(\(error))") }
    /// A member is missing.
    public static func missing(_ member: String) -> CTAPResponseError { CTAPResponseError("missing(\(member))") }
    /// A member has the wrong type.
    public static func wrongType(_ member: String) -> CTAPResponseError { CTAPResponseError("wrongType(\(member))") }
    /// A member has the wrong length or a value that is not allowed.
    public static func invalid(_ member: String) -> CTAPResponseError { CTAPResponseError("invalid(\(member))") }
    /// The authenticator data is malformed.
    public static func authenticatorData(_ error: AuthenticatorDataError) -> CTAPResponseError {
        CTAPResponseError("authenticatorData(\(error))")
    }
}

extension CBORMap {
    /// Creates a map from the body of a response, which must contain a map.
    init(responseBody bytes: [UInt8]) throws(CTAPResponseError) {
        let decoded = Result { () throws(CBORError) in try CBORDecoder.decode(bytes, mode: .lenient) }
        guard let map = try decoded.mapError(CTAPResponseError.cbor).get().map else { throw .notAMap }
        self = map
    }
}

extension CTAPResponseError: FieldFailure {
    static func wrongLength(_ member: String) -> Self { .invalid(member) }
}
