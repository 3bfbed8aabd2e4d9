// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import HybridPrimitives
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// A certificate authority for one run of the lab.
///
/// Its key is never stored.
struct ThrowawayAuthority {
    private let key: Certificate.PrivateKey
    private let certificate: Certificate
    private let name: DistinguishedName

    init() throws {
        key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        name = try DistinguishedName { CommonName("hybrid-lab throwaway CA") }
        certificate = try Self.issue(
            subject: name,
            issuer: name,
            publicKey: key.publicKey,
            signingKey: key,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true))
            }
        )
    }

    /// The authority's certificate, for `--cacert`.
    var pem: String { get throws { try certificate.serializeAsPEM().pemString } }

    /// Returns the TLS context of a server with this name, and the hash of its certificate's key.
    func serverContext(for host: String) throws -> (NIOSSLContext, CertificatePin) {
        let rawKey = P256.Signing.PrivateKey()
        let serverKey = Certificate.PrivateKey(rawKey)
        let server = try Self.issue(
            subject: try DistinguishedName { CommonName("hybrid-lab relay") },
            issuer: name,
            publicKey: serverKey.publicKey,
            signingKey: key,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([.dnsName(host), .dnsName("localhost")])
            }
        )
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [
                .certificate(try NIOSSLCertificate(bytes: Array(server.serializeAsPEM().pemString.utf8), format: .pem))
            ],
            privateKey: .privateKey(
                try NIOSSLPrivateKey(bytes: Array(serverKey.serializeAsPEM().pemString.utf8), format: .pem)
            )
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        return (try NIOSSLContext(configuration: configuration), CertificatePin(of: rawKey.publicKey))
    }

    private static func issue(
        subject: DistinguishedName,
        issuer: DistinguishedName,
        publicKey: Certificate.PublicKey,
        signingKey: Certificate.PrivateKey,
        extensions: Certificate.Extensions
    ) throws -> Certificate {
        let now = Date()
        return try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: publicKey,
            notValidBefore: now.addingTimeInterval(-3600),
            notValidAfter: now.addingTimeInterval(24 * 3600),
            issuer: issuer,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: signingKey
        )
    }
}

/// The SHA-256 hash of a certificate's public key (SubjectPublicKeyInfo), by which Chromium trusts a single
/// certificate.
struct CertificatePin: Sendable {
    /// The hash in base64.
    let text: String

    init(of key: P256.Signing.PublicKey) {
        text = String(decoding: Base64.encode(Array(SHA256.hash(data: key.derRepresentation))), as: UTF8.self)
    }
}
