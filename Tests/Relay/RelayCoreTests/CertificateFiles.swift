// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridRelayCore
import NIOSSL
import TestSupport
import Testing

/// A directory with two certificates for `localhost` and their keys, created by openssl.
final class CertificateFiles {
    let directory: String

    init() async throws {
        directory = try TestFolder().path
        for name in ["own", "other"] { _ = try await create(name) }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// Creates a certificate for `localhost` and its key; returns the paths.
    func create(
        _ name: String,
        days: Int = 2,
        key: [String] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    ) async throws -> (certificate: String, key: String) {
        let paths = ("\(directory)/\(name).pem", "\(directory)/\(name).key")
        try await Self.openssl(
            ["req", "-x509", "-days", "\(days)", "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:localhost"]
                + key + ["-nodes", "-keyout", paths.1, "-out", paths.0]
        )
        return paths
    }

    /// Creates a certificate for `localhost`, issued by another one, and its key.
    func issue(_ name: String, by issuer: String) async throws {
        let path = "\(directory)/\(name)"
        try await Self.openssl(
            ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=\(name)"]
                + ["-keyout", path + ".key", "-out", path + ".csr"]
        )
        try await Self.openssl(
            ["x509", "-req", "-in", path + ".csr", "-days", "2", "-CA", "\(directory)/\(issuer).pem"]
                + ["-CAkey", "\(directory)/\(issuer).key", "-CAcreateserial", "-out", path + ".pem"]
        )
    }

    /// Returns a relay's transport with one of the certificates.
    func relayTransport(_ name: String = "own") throws -> SocketSecurity {
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

    static func openssl(_ arguments: [String]) async throws {
        let process = try SpawnedProcess(["openssl"] + arguments, environment: ["PATH": "/usr/bin:/bin"])
        try #require(try await process.end() == 0)
    }
}
