// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
internal import HybridCTAP
internal import HybridPrimitives
internal import SwiftASN1
internal import X509

/// The certificate of an authenticator model in a packed attestation statement (WebAuthn Level 3 §8.2.1).
struct AttestationCertificate: Sendable {
    /// `id-fido-gen-ce-aaguid`.
    private static let aaguidExtension: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 45724, 1, 1, 4]

    private let der: [UInt8]
    private let certificate: Certificate

    /// Creates a certificate from its DER; `nil` if it is malformed.
    init?(der: [UInt8]) {
        guard let certificate = try? Certificate(derEncoded: der) else { return nil }
        self.der = der
        self.certificate = certificate
    }

    /// Returns the key for signatures with this algorithm; `nil` if the certificate's key is of another type.
    func key(for algorithm: COSEAlgorithm) -> VerificationKey? {
        switch algorithm.rawValue {
        case -7, -9: P256.Signing.PublicKey(certificate.publicKey).map { .es256($0) }
        case -35: P384.Signing.PublicKey(certificate.publicKey).map { .es384($0) }
        case -36: P521.Signing.PublicKey(certificate.publicKey).map { .es512($0) }
        case -8: Curve25519.Signing.PublicKey(certificate.publicKey).map { .ed25519($0) }
        case -257: _RSA.Signing.PublicKey(certificate.publicKey).map { .rs256($0) }
        default: nil
        }
    }

    /// True if version, subject and basic constraints are those of an attestation certificate.
    var meetsRequirements: Bool {
        guard certificate.version == .v3,
            texts(.RDNAttributeType.countryName).contains(where: { $0.utf8.count == 2 }),
            texts(.RDNAttributeType.organizationName).contains(where: { !$0.isEmpty }),
            texts(.RDNAttributeType.organizationalUnitName).contains("Authenticator Attestation"),
            texts(.RDNAttributeType.commonName).contains(where: { !$0.isEmpty }),
            let constraints = try? certificate.extensions.basicConstraints
        else { return false }
        return constraints == .notCertificateAuthority
    }

    /// Returns true unless the certificate states another model in its extension, which must not be critical.
    func isFor(_ aaguid: AAGUID) -> Bool {
        guard let stated = certificate.extensions[oid: Self.aaguidExtension] else { return true }
        var reader = DERReader(Array(stated.value)[...])
        guard !stated.critical, let bytes = reader.take(.octetString), reader.isAtEnd else { return false }
        return Array(bytes) == aaguid.bytes
    }

    /// Returns true if the certificate is one of `roots` or has a valid chain to one (RFC 5280 §6.1).
    func isTrusted(by roots: [[UInt8]], intermediates: [[UInt8]]) async -> Bool {
        if roots.contains(der) { return true }
        let anchors = roots.compactMap { try? Certificate(derEncoded: $0) }
        var verifier = Verifier(rootCertificates: CertificateStore(anchors)) { RFC5280Policy() }
        let others = CertificateStore(intermediates.compactMap { try? Certificate(derEncoded: $0) })
        return switch await verifier.validate(leaf: certificate, intermediates: others) {
        case .validCertificate: true
        case .couldNotValidate: false
        }
    }

    /// Returns the texts of a subject's attribute.
    private func texts(_ type: ASN1ObjectIdentifier) -> [String] {
        certificate.subject.flatMap { $0 }.filter { $0.type == type }.map { String(describing: $0.value) }
    }
}
