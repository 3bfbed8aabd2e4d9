// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// An authenticator's answer: a status byte and, on success, CBOR (CTAP 2.2 §8).
public struct CTAPResponse: Equatable, Sendable {
    /// How it went.
    public var status: CTAPStatus
    /// The CBOR after the status byte; empty on failure.
    public var body: [UInt8]

    /// An answer from its parts.
    public init(status: CTAPStatus, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    /// An answer that says why not.
    public static func failure(_ status: CTAPStatus) -> CTAPResponse { CTAPResponse(status: status, body: []) }

    /// An answer that carries a result.
    public static func success(_ body: [UInt8]) -> CTAPResponse { CTAPResponse(status: .success, body: body) }

    /// Reads a status byte and what follows it; only an empty message is refused.
    public init(parsing bytes: [UInt8]) throws(CTAPResponseError) {
        guard let first = bytes.first else { throw .empty }
        self.init(status: CTAPStatus(rawValue: first), body: Array(bytes.dropFirst()))
    }

    /// The status byte and the body.
    public var encoded: [UInt8] { [status.rawValue] + body }
}

/// Why an authenticator's answer can't be used.
public enum CTAPResponseError: Error, Equatable, Sendable {
    /// It has no bytes.
    case empty
    /// It is not CBOR.
    case cbor(CBORError)
    /// It is CBOR, but not a map.
    case notAMap
    /// A member is missing.
    case missing(String)
    /// A member has the wrong type.
    case wrongType(String)
    /// A member has the wrong length or a value that is not allowed.
    case invalid(String)
    /// The authenticator data can't be read.
    case authenticatorData(AuthenticatorDataError)

    init(_ error: FieldError) {
        switch error {
        case .missing(let name): self = .missing(name)
        case .wrongType(let name): self = .wrongType(name)
        case .wrongLength(let name), .invalid(let name): self = .invalid(name)
        }
    }
}

extension CBORMap {
    /// The map that an answer's body must be.
    init(responseBody bytes: [UInt8]) throws(CTAPResponseError) {
        let value: CBORValue
        do throws(CBORError) {
            value = try CBORDecoder.decode(bytes, mode: .lenient)
        } catch {
            throw .cbor(error)
        }
        guard let map = value.map else { throw .notAMap }
        self = map
    }
}
