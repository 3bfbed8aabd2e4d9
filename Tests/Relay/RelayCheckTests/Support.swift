// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridRelayCheck
import HybridRelayCore
import IntegrationTestSupport
import NIOCore
import NIOSSL
import TestSupport
import Testing

/// The value of `Sec-WebSocket-Accept`.
enum Accept {
    static func value(for key: String) -> String {
        let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return Data(Insecure.SHA1.hash(data: Data(text.utf8))).base64EncodedString()
    }
}

/// A certificate for one name, created by openssl.
struct TestCertificate {
    let file: String
    let key: String

    /// Runs `body` with temporary files.
    ///
    /// - Parameter name: The alternative name in openssl's notation, `DNS:…` or `IP:…`.
    static func with(
        _ name: String,
        hasExpired: Bool = false,
        _ body: (TestCertificate) async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "relay-check-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let made = TestCertificate(file: folder + "/cert.pem", key: folder + "/key.pem")
        let command = [
            "openssl", "req", "-x509", "-days", "2", "-nodes", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-subj", "/CN=relay", "-addext", "subjectAltName=\(name)",
            "-keyout", made.key, "-out", made.file,
        ]
        // Newer versions of openssl refuse a negative number of days, and only they have options for dates.
        let sign = "openssl x509 -in \"$1\" -signkey \"$2\" -out \"$1.new\""
        let dates = "-not_before 20200101000000Z -not_after 20210101000000Z"
        let script = "{ \(sign) -days -1 || \(sign) \(dates); } && mv \"$1.new\" \"$1\""
        let again = ["sh", "-c", script, "sh", made.file, made.key]
        for command in hasExpired ? [command, again] : [command] {
            let process = try SpawnedProcess(command, environment: ProcessInfo.processInfo.environment)
            try #require(try await process.end() == 0)
        }
        try await body(made)
    }

    /// Returns the TLS of a scripted server with this certificate.
    func context() throws -> NIOSSLContext {
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(file).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
        )
        return try NIOSSLContext(configuration: configuration)
    }

    /// Returns the TLS of this project's relay with this certificate.
    func relayTransport() throws -> SocketSecurity {
        .tls(try RelayCertificate.context(certificateFile: file, keyFile: key))
    }
}

/// Runs this project's relay while `body` runs, which receives its port.
///
/// On a busy computer requests are slow, too, so the relay's time limit is longer than usual, but shorter than that of
/// a check, which waits for it.
func withRealRelay(
    _ transport: SocketSecurity = .plaintext,
    headTime: TimeAmount = .seconds(20),
    _ body: (Int) async throws -> Void
) async throws {
    try await TestRelay.run(transport: transport, limits: .testing { $0.headTime = headTime }) { _, address in
        try await body(try #require(address.port))
    }
}

extension CheckOptions {
    /// Options with time limits for a busy computer; tests of missing reactions shorten them.
    static var testing: CheckOptions {
        var options = CheckOptions()
        options.timeout = .seconds(30)
        options.reactionTimeouts = [:]
        return options
    }
}

extension CheckReport {
    /// The lines of results that are neither ok nor skipped.
    var complaints: [String] {
        results.compactMap { result in
            switch result.outcome {
            case .ok, .skipped: nil
            case .differs, .prevented: result.line
            }
        }
    }

    /// Returns the outcome of a check.
    func outcome(_ id: CheckID) -> CheckOutcome? { results.first { $0.id == id }?.outcome }

    /// The checks that could not be made.
    var prevented: [CheckID] {
        results.compactMap { if case .prevented = $0.outcome { $0.id } else { nil } }
    }
}

func check(_ url: String, _ options: CheckOptions = .testing) async throws -> CheckReport {
    try await RelayChecker(relay: try RelayAddress(url), options: options).run()
}
