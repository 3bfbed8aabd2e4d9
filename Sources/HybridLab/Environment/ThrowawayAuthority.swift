// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import HybridPrimitives
internal import HybridRelayCore
internal import SwiftASN1
internal import X509

/// A certificate authority for one run of the lab, whose key is never stored.
struct ThrowawayAuthority: Sendable {
    private let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    private let name: DistinguishedName

    init() throws {
        name = try DistinguishedName { CommonName("hybrid-lab throwaway CA") }
    }

    /// Returns the authority's certificate in PEM, for `--cacert`.
    func makeCertificate() throws -> String {
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true))
        }
        return try issue(to: name, key.publicKey, extensions)
    }

    /// Returns the TLS context of a server with this host name, and a pin for its certificate.
    ///
    /// The pin is the SHA-256 hash of the SubjectPublicKeyInfo in base64, with which Chromium trusts a single
    /// certificate.
    func serverContext(for host: String) throws -> (context: TLSServerContext, pin: String) {
        let server = try issue(to: "hybrid-lab relay", for: [host, "localhost"])
        let context = try RelayCertificate.context(
            certificate: Array(server.certificate.utf8),
            key: Array(server.key.utf8)
        )
        return (context, server.pin)
    }

    /// Returns the certificate of a server with these host names and its key in PEM, and its pin.
    func issue(to name: String, for hosts: [String]) throws -> (certificate: String, key: String, pin: String) {
        let serverKey = P256.Signing.PrivateKey()
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try ExtendedKeyUsage([.serverAuth])
            SubjectAlternativeNames(hosts.map { .dnsName($0) })
        }
        let subject = try DistinguishedName { CommonName(name) }
        let certificate = try issue(to: subject, Certificate.PublicKey(serverKey.publicKey), extensions)
        let hash = SHA256.hash(data: serverKey.publicKey.derRepresentation)
        return (certificate, serverKey.pemRepresentation, String(decoding: Base64.encode(Array(hash)), as: UTF8.self))
    }

    private func issue(
        to subject: DistinguishedName,
        _ publicKey: Certificate.PublicKey,
        _ extensions: Certificate.Extensions
    ) throws -> String {
        let now = Date()
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: publicKey,
            notValidBefore: now.addingTimeInterval(-3600),
            notValidAfter: now.addingTimeInterval(24 * 3600),
            issuer: name,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: key
        )
        return try certificate.serializeAsPEM().pemString
    }
}
