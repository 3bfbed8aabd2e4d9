// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// A new credential (response to `authenticatorMakeCredential`, CTAP 2.2 §6.1).
public struct MakeCredentialResponse: Equatable, Sendable {
    /// Name of the attestation format, such as `none` or `packed`.
    public var format: String
    /// The authenticator data, which must contain the attested credential.
    public var authenticatorData: AuthenticatorData
    /// The attestation statement.
    public var attestationStatement: CBORMap
    /// Extension outputs that no signature covers; `nil` if absent.
    public var unsignedExtensionOutputs: CBORMap?

    /// Creates a response from its parts.
    ///
    /// The default is a response without attestation, as sent by passkey providers.
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

    /// Creates a response with self attestation: the new key signs authenticator data and client data hash.
    public init(authenticatorData: AuthenticatorData, selfAttestation signature: [UInt8], algorithm: COSEAlgorithm) {
        self.init(
            format: AttestationObject.packedFormat,
            authenticatorData: authenticatorData,
            attestationStatement: ["alg": .integer(algorithm.rawValue), "sig": .bytes(signature)]
        )
    }

    /// Creates a response from the body of a successful ``CTAPResponse``.
    public init(parsing body: [UInt8]) throws(CTAPResponseError) {
        let fields = FieldReader<CTAPResponseError>(try CBORMap(responseBody: body))
        format = try fields.required(1, "fmt", as: \.text)
        attestationStatement = try fields.optional(3, "attStmt", as: \.map) ?? [:]
        unsignedExtensionOutputs = fields.ignorable(6, as: \.map)
        authenticatorData = try fields.authenticatorData(2)
    }

    /// The canonical CBOR.
    public var encoded: [UInt8] {
        var map: CBORMap = [
            1: .text(format), 2: .bytes(authenticatorData.encoded), 3: .map(attestationStatement),
        ]
        if let unsignedExtensionOutputs { map[6] = .map(unsignedExtensionOutputs) }
        return CBOREncoder.encode(map)
    }

    /// Returns the original bytes of the attestation statement in a response's body; `nil` if there is none.
    ///
    /// A statement that is decoded and encoded again could differ from the signed bytes.
    public static func encodedStatement(in body: [UInt8]) -> [UInt8]? {
        CBORDecoder.encodedValue(of: 3, inMap: body)
    }

    /// The response as an attestation object, which is sent to the relying party.
    public var attestationObject: AttestationObject {
        AttestationObject(format: format, statement: attestationStatement, authenticatorData: authenticatorData)
    }
}

extension FieldReader<CTAPResponseError> {
    /// Returns the authenticator data in a response, which is a required member.
    func authenticatorData(_ key: CBORValue) throws(CTAPResponseError) -> AuthenticatorData {
        let bytes = try required(key, "authData", as: \.bytes)
        do throws(AuthenticatorDataError) {
            return try AuthenticatorData(parsing: bytes)
        } catch {
            throw .authenticatorData(error)
        }
    }
}
