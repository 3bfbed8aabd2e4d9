// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// A certificate authority that lives as long as one run of the lab; its key is never written down.
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

    /// TLS for a server of this name, and what its certificate is known by.
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

/// SHA-256 of a certificate's public key (its SubjectPublicKeyInfo), as Chromium takes it to trust one certificate.
struct CertificatePin: Sendable {
    /// In base64.
    let text: String

    init(of key: P256.Signing.PublicKey) {
        text = Data(SHA256.hash(data: key.derRepresentation)).base64EncodedString()
    }
}
