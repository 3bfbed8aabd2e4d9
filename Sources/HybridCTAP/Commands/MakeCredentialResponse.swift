// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// A new credential (answer to `authenticatorMakeCredential`, CTAP 2.2 §6.1).
public struct MakeCredentialResponse: Equatable, Sendable {
    /// Name of the attestation format, such as `none` or `packed`.
    public var format: String
    /// What the authenticator says; it must contain the attested credential.
    public var authenticatorData: AuthenticatorData
    /// The attestation statement.
    public var attestationStatement: CBORMap
    /// Extension outputs that nothing signs; `nil` if absent.
    public var unsignedExtensionOutputs: CBORMap?

    /// An answer from its parts; the default is what passkey providers send: no attestation.
    public init(
        format: String = AttestationObject.noneFormat,
        authenticatorData: AuthenticatorData,
        attestationStatement: CBORMap = [:],
        unsignedExtensionOutputs: CBORMap? = nil
    ) {
        self.format = format
        self.authenticatorData = authenticatorData
        self.attestationStatement = attestationStatement
        self.unsignedExtensionOutputs = unsignedExtensionOutputs
    }

    /// An answer in which the new key itself signs, over authenticator data and client data hash.
    public init(authenticatorData: AuthenticatorData, selfAttestation signature: [UInt8], algorithm: COSEAlgorithm) {
        self.init(
            format: AttestationObject.packedFormat,
            authenticatorData: authenticatorData,
            attestationStatement: ["alg": .integer(algorithm.rawValue), "sig": .bytes(signature)]
        )
    }

    /// Reads the body of a successful ``CTAPResponse``.
    public init(parsing body: [UInt8]) throws(CTAPResponseError) {
        let map = try CBORMap(responseBody: body)
        let fields = FieldReader(map)
        let bytes: [UInt8]
        do throws(FieldError) {
            format = try fields.required(1, "fmt", as: \.text)
            bytes = try fields.required(2, "authData", as: \.bytes)
            attestationStatement = try fields.optional(3, "attStmt", as: \.map) ?? [:]
            unsignedExtensionOutputs = try fields.optional(6, "unsignedExtensionOutputs", as: \.map)
        } catch {
            throw CTAPResponseError(error)
        }
        authenticatorData = try AuthenticatorData(responseMember: bytes)
    }

    /// The canonical CBOR.
    public var encoded: [UInt8] {
        var map: CBORMap = [
            1: .text(format), 2: .bytes(authenticatorData.encoded), 3: .map(attestationStatement),
        ]
        if let unsignedExtensionOutputs { map[6] = .map(unsignedExtensionOutputs) }
        return CBOREncoder.encode(map)
    }

    /// The attestation statement as it stands in an answer's body, byte for byte; `nil` if there is none.
    ///
    /// A statement that is written anew could differ from what was signed or counted.
    public static func encodedStatement(in body: [UInt8]) -> [UInt8]? {
        CBORDecoder.encodedValue(of: 3, inMap: body)
    }

    /// The same in the form that relying parties read.
    public var attestationObject: AttestationObject {
        AttestationObject(format: format, statement: attestationStatement, authenticatorData: authenticatorData)
    }
}

extension AuthenticatorData {
    /// Reads the member of an answer.
    init(responseMember bytes: [UInt8]) throws(CTAPResponseError) {
        do throws(AuthenticatorDataError) {
            try self.init(parsing: bytes)
        } catch {
            throw .authenticatorData(error)
        }
    }
}
