// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Glibc
import HybridRelayCheck
import HybridRelayCore
import Logging
import NIOCore
import NIOSSL
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
    ///
    /// - Parameter name: as openssl writes alternative names, `DNS:…` or `IP:…`.
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
        let again = [
            "openssl", "x509", "-in", made.file, "-signkey", made.key, "-days", "-1", "-out", made.file,
        ]
        for command in hasExpired ? [command, again] : [command] {
            let process = try SpawnedProcess(command, environment: ProcessInfo.processInfo.environment)
            try #require(try await process.end() == 0)
        }
        try await body(made)
    }

    func context() throws -> NIOSSLContext {
        try RelayCertificate.context(certificateFile: file, keyFile: key)
    }
}

/// A TCP port of the loopback interface that nobody else gets and nobody listens on as long as this is there.
final class DeafPort {
    let number: Int
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { [descriptor] in
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        number = Int(address.sin_port.bigEndian)
        try #require(isBound)
    }

    deinit { Glibc.close(descriptor) }
}

/// Runs this project's relay for the time of `body`, which is given its port.
///
/// A busy machine takes its time with a request, too, so this relay is more patient than usual; less so than a check,
/// which waits for it to give up.
func withRealRelay(
    _ transport: RelayTransport = .plaintext,
    headTime: TimeAmount = .seconds(20),
    _ body: (Int) async throws -> Void
) async throws {
    var limits = RelayLimits()
    limits.headTime = headTime
    let configuration = RelayConfiguration(
        listen: [try SocketAddress(ipAddress: "127.0.0.1", port: 0)],
        transport: transport,
        limits: limits
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
    /// Patience for a busy machine; where a test's relay never sends something, the test shortens the wait for that.
    static var testing: CheckOptions {
        var options = CheckOptions()
        options.timeout = .seconds(30)
        options.patience = [:]
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

    /// What a check found.
    func outcome(_ id: CheckID) -> CheckOutcome? { results.first { $0.id == id }?.outcome }

    /// The checks that something stood in the way of.
    var prevented: [CheckID] {
        results.compactMap { if case .prevented = $0.outcome { $0.id } else { nil } }
    }
}

func check(_ url: String, _ options: CheckOptions = .testing) async throws -> CheckReport {
    try await RelayChecker(relay: try RelayAddress(url), options: options).run()
}
