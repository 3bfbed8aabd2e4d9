// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridNetwork
import NIOCore
import NIOSSL
import NetworkTestSupport
import Testing

@testable import HybridDataChannel

@Suite("Failures of TLS with a relay", .timeLimit(.minutes(5)))
struct RelayTLSTests {
    private static let host = TestCertificates.domain?.host ?? ""

    /// Returns the error of a client whose first message the server answers with these bytes.
    private static func refusal(_ answer: [UInt8]) async throws -> TunnelError? {
        let (_, refusal) = try await ScriptedRelay.run(nil) {
            try await $0.send(answer)
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        return refusal?.bare
    }

    @Test(
        "A server without TLS is reported",
        arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "J\0\0\0\n8.0.36\0"]
    )
    func noTLS(greeting: String) async throws {
        #expect(try await Self.refusal(Array(greeting.utf8)) == .network(.tlsMissing(host: Self.host)))
    }

    @Test(
        "Alerts are reported by cause or by name",
        arguments: [
            (70, .network(.tlsVersionUnsupported(host: host))), (40, .network(.tlsCipherUnsupported(host: host))),
            (71, .network(.tlsCipherUnsupported(host: host))),
            (80, .network(.tlsAlert(host: host, name: "internal_error"))),
            (112, .network(.tlsAlert(host: host, name: "unrecognized_name"))),
            (109, .network(.tlsAlert(host: host, name: "109"))),
        ] as [(UInt8, TunnelError)]
    )
    func alerts(alert: UInt8, expected: TunnelError) async throws {
        // One TLS record: content type, version, length, level "fatal", description.
        #expect(try await Self.refusal([21, 3, 3, 0, 2, 2, alert]) == expected)
    }

    @Test("Malformed TLS is reported in words")
    func malformed() async throws {
        #expect(try await Self.refusal([22, 3, 3, 0, 5, 2, 0, 0, 1, 0]) == .network(.tlsFailed("decode error")))
        #expect(try await Self.refusal([22, 3, 3, 255, 255, 2]) == .network(.tlsFailed("encrypted length too long")))
    }

    /// Returns the error of a client of a server with these settings.
    private static func refusal(_ change: (inout TLSConfiguration) -> Void) async throws -> TunnelError? {
        let certificates = try await TestCertificates.shared()
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificates.certificate(.relay)).map {
                .certificate($0)
            },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificates.key(.relay), format: .pem))
        )
        change(&configuration)
        let (_, refusal) = try await ScriptedRelay.run(with: try NIOSSLContext(configuration: configuration)) {
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        return refusal?.bare
    }

    @Test("A server with old versions only is reported")
    func oldVersion() async throws {
        let refusal = try await Self.refusal {
            $0.minimumTLSVersion = .tlsv1
            $0.maximumTLSVersion = .tlsv11
        }
        #expect(refusal == .network(.tlsVersionUnsupported(host: Self.host)))
    }

    @Test("A server without a common cipher is reported")
    func otherCipher() async throws {
        let refusal = try await Self.refusal {
            // The certificate's key is not of the kind that this cipher needs.
            $0.cipherSuiteValues = [.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]
            $0.maximumTLSVersion = .tlsv12
        }
        #expect(refusal == .network(.tlsCipherUnsupported(host: Self.host)))
    }

    @Test("A server that requires a certificate of its clients is reported")
    func clientCertificate() async throws {
        let refusal = try await Self.refusal {
            $0.certificateVerification = .noHostnameVerification
            // With TLS 1.3, the alert follows the handshake and competes with the end of the connection.
            $0.maximumTLSVersion = .tlsv12
        }
        #expect(refusal == .network(.tlsAlert(host: Self.host, name: "handshake_failure")))
    }
}
