// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// A new credential as relying parties read it: `{fmt, attStmt, authData}` (WebAuthn Level 3 §6.5.4).
public struct AttestationObject: Hashable, Sendable {
    /// The format that attests nothing.
    public static let noneFormat = "none"
    /// The format whose statement is `{alg, sig}` by the credential itself, or by a certificate (WebAuthn Level 3 §8.2).
    public static let packedFormat = "packed"

    /// Name of the attestation format.
    public var format: String
    /// The attestation statement.
    public var statement: CBORMap
    /// What the authenticator says.
    public var authenticatorData: AuthenticatorData

    /// An attestation object from its parts.
    public init(format: String, statement: CBORMap, authenticatorData: AuthenticatorData) {
        self.format = format
        self.statement = statement
        self.authenticatorData = authenticatorData
    }

    /// Reads the CBOR.
    public init(parsing bytes: [UInt8]) throws(CTAPResponseError) {
        let fields = FieldReader(try CBORMap(responseBody: bytes))
        let data: [UInt8]
        do throws(FieldError) {
            format = try fields.required("fmt", "fmt", as: \.text)
            statement = try fields.required("attStmt", "attStmt", as: \.map)
            data = try fields.required("authData", "authData", as: \.bytes)
        } catch {
            throw CTAPResponseError(error)
        }
        authenticatorData = try AuthenticatorData(responseMember: data)
    }

    /// The canonical CBOR.
    public var encoded: [UInt8] { encoded(statement: CBOREncoder.encode(statement)) }

    /// The CBOR around a statement that stays as it was written; all else is canonical.
    public func encoded(statement bytes: [UInt8]) -> [UInt8] {
        func text(_ text: String) -> [UInt8] { CBOREncoder.encode(.text(text)) }
        return [0xA3] + text("fmt") + text(format) + text("attStmt") + bytes
            + text("authData") + CBOREncoder.encode(.bytes(authenticatorData.encoded))
    }
}
