// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// A new credential as relying parties receive it: `{fmt, attStmt, authData}` (WebAuthn Level 3 §6.5.4).
public struct AttestationObject: Hashable, Sendable {
    /// The format without attestation.
    public static let noneFormat = "none"
    /// The format with a signature by the credential itself or by an attestation certificate (WebAuthn Level 3 §8.2).
    public static let packedFormat = "packed"

    /// Name of the attestation format.
    public var format: String
    /// The attestation statement.
    public var statement: CBORMap
    /// The authenticator data, which contains the new credential.
    public var authenticatorData: AuthenticatorData

    /// Creates an attestation object from its parts.
    public init(format: String, statement: CBORMap, authenticatorData: AuthenticatorData) {
        self.format = format
        self.statement = statement
        self.authenticatorData = authenticatorData
    }

    /// Creates an attestation object from its CBOR.
    public init(parsing bytes: [UInt8]) throws(CTAPResponseError) {
        let fields = FieldReader<CTAPResponseError>(try CBORMap(responseBody: bytes))
        format = try fields.required("fmt", "fmt", as: \.text)
        statement = try fields.required("attStmt", "attStmt", as: \.map)
        authenticatorData = try fields.authenticatorData("authData")
    }

    /// The canonical CBOR.
    public var encoded: [UInt8] { encoded(statement: CBOREncoder.encode(statement)) }

    /// Returns the CBOR with `bytes` as the encoded attestation statement; the rest is canonical.
    public func encoded(statement bytes: [UInt8]) -> [UInt8] {
        func text(_ text: String) -> [UInt8] { CBOREncoder.encode(.text(text)) }
        var encoded: [UInt8] = [0xA3]
        encoded += text("fmt") + text(format)
        encoded += text("attStmt") + bytes
        encoded += text("authData") + CBOREncoder.encode(.bytes(authenticatorData.encoded))
        return encoded
    }
}
