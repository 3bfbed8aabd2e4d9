// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridCTAP

/// An attestation statement whose form and signature are verified (WebAuthn Level 3 §7.1 step 23).
enum VerifiedStatement: Sendable {
    case none
    case selfAttestation
    case certificate(AttestationCertificate, intermediates: [[UInt8]])

    /// Returns the kind of the attestation; assesses the chain of certificates (steps 24 and 25).
    func kind(trusting roots: [[UInt8]]) async -> VerifiedAttestation {
        switch self {
        case .none: .none
        case .selfAttestation: .selfAttestation
        case .certificate(let certificate, let intermediates):
            .certificate(isTrusted: await certificate.isTrusted(by: roots, intermediates: intermediates))
        }
    }
}

extension AttestationObject {
    /// Maximum number of certificates in a statement; real chains have up to four.
    static let maximumCertificates = 8

    /// Verifies the statement of format `none` (§8.7) or `packed` (§8.2).
    ///
    /// - Parameters:
    ///   - credential: The new credential.
    ///   - key: Its public key.
    ///   - signed: Authenticator data ‖ hash of the client data.
    func verifiedStatement(
        credential: AttestedCredential,
        key: VerificationKey,
        signed: [UInt8]
    ) throws(ResponseRejection.Cause) -> VerifiedStatement {
        switch format {
        case Self.noneFormat:
            guard statement.isEmpty else { throw .malformedStatement }
            return .none
        case Self.packedFormat:
            return try packedStatement(credential, key, signed)
        default: throw .unsupportedFormat
        }
    }

    private func packedStatement(
        _ credential: AttestedCredential,
        _ key: VerificationKey,
        _ signed: [UInt8]
    ) throws(ResponseRejection.Cause) -> VerifiedStatement {
        guard let number = statement["alg"]?.integer, let signature = statement["sig"]?.bytes else {
            throw .malformedStatement
        }
        let algorithm = COSEAlgorithm(rawValue: number)
        guard let chain = statement["x5c"] else {
            guard statement.count == 2 else { throw .malformedStatement }
            guard algorithm == credential.publicKey.algorithm else { throw .otherAttestationAlgorithm }
            guard key.isValid(signature, for: signed) else { throw .wrongAttestationSignature }
            return .selfAttestation
        }
        let elements = chain.array ?? []
        let certificates = elements.compactMap(\.bytes)
        guard statement.count == 3, !certificates.isEmpty, certificates.count == elements.count,
            certificates.count <= Self.maximumCertificates
        else { throw .malformedStatement }
        guard let certificate = AttestationCertificate(der: certificates[0]) else { throw .unsuitableCertificate }
        guard let attestationKey = certificate.key(for: algorithm), attestationKey.isValid(signature, for: signed)
        else {
            throw .wrongAttestationSignature
        }
        guard certificate.meetsRequirements else { throw .unsuitableCertificate }
        guard certificate.isFor(credential.aaguid) else { throw .otherModel }
        return .certificate(certificate, intermediates: Array(certificates.dropFirst()))
    }
}
