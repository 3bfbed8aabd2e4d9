// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Logging
import NIOCore
import NIOSSL
import RelayCheck
import RelayCore
import TestSupport
import Testing

/// The answer to a WebSocket key.
enum Accept {
    static func value(for key: String) -> String {
        let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return Data(Insecure.SHA1.hash(data: Data(text.utf8))).base64EncodedString()
    }
}

/// A certificate for one name, made by openssl.
struct TestCertificate {
    let file: String
    let key: String

    /// Runs `body` with files that are gone afterwards.
    static func with(
        _ name: String,
        _ body: (TestCertificate) async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "relay-check-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let made = TestCertificate(file: folder + "/cert.pem", key: folder + "/key.pem")
        let command = [
            "openssl", "req", "-x509", "-days", "2", "-nodes", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-subj", "/CN=relay", "-addext", "subjectAltName=DNS:\(name)",
            "-keyout", made.key, "-out", made.file,
        ]
        let status = try SpawnedProcess(command, environment: ProcessInfo.processInfo.environment).endOfShortCommand()
        try #require(status == 0)
        try await body(made)
    }

    func context() throws -> NIOSSLContext {
        try RelayCertificate.context(certificateFile: file, keyFile: key)
    }
}

/// Runs this project's relay for the time of `body`, which is given its port.
func withRealRelay(_ transport: RelayTransport = .plaintext, _ body: (Int) async throws -> Void) async throws {
    let configuration = RelayConfiguration(
        listen: [try SocketAddress(ipAddress: "127.0.0.1", port: 0)],
        transport: transport
    )
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let server = RelayServer(configuration: configuration, logger: logger)
    let port = try #require(try await server.start().first?.port)
    do {
        try await body(port)
    } catch {
        await server.shutdown()
        throw error
    }
    await server.shutdown()
}

extension CheckOptions {
    /// Patience for a busy machine, but not ten seconds for each thing that never comes.
    static var testing: CheckOptions {
        var options = CheckOptions()
        options.timeout = .seconds(4)
        options.cutTime = .seconds(4)
        return options
    }
}

extension CheckReport {
    /// The results that are neither ok nor left out by choice, for a failing test to show.
    var complaints: [String] {
        results.compactMap { result in
            switch result.outcome {
            case .ok, .skipped: nil
            case .differs, .prevented: result.line
            }
        }
    }

    /// The checks that something stood in the way of.
    var prevented: [CheckID] {
        results.compactMap { if case .prevented = $0.outcome { $0.id } else { nil } }
    }
}

func check(_ url: String, _ options: CheckOptions = .testing) async throws -> CheckReport {
    try await RelayChecker(relay: try RelayAddress(url), options: options).run()
}
