// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridRelayCore
import NIOSSL
import TestSupport
import Testing

/// A directory with two certificates for `localhost` and their keys, created by openssl.
final class CertificateFiles {
    let directory: String

    init() async throws {
        var template = Array("/tmp/relay-tls-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        for name in ["own", "other"] {
            try await Self.openssl(
                ["req", "-x509", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
                    + key + ["-keyout", "\(directory)/\(name).key", "-out", "\(directory)/\(name).pem"]
            )
        }
    }

    deinit {
        for name in ["own.key", "own.pem", "other.key", "other.pem"] { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    /// Returns a relay's transport with one of the certificates.
    func relayTransport(_ name: String = "own") throws -> RelayTransport {
        let path = "\(directory)/\(name)"
        return .tls(try RelayCertificate.context(certificateFile: path + ".pem", keyFile: path + ".key"))
    }

    /// Returns the TLS of a client that trusts only this certificate.
    func clientContext(
        _ name: String = "own",
        _ change: (inout TLSConfiguration) -> Void = { _ in }
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file("\(directory)/\(name).pem")
        change(&configuration)
        return try NIOSSLContext(configuration: configuration)
    }

    private static func openssl(_ arguments: [String]) async throws {
        let process = try SpawnedProcess(["openssl"] + arguments, environment: ["PATH": "/usr/bin:/bin"])
        try #require(try await process.end() == 0)
    }
}
