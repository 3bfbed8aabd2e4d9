// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HybridRelayCore
import NIOCore
import NIOSSL
import TestSupport
import Testing

@Suite("TLS handshakes with a relay", .timeLimit(.minutes(10)))
struct HandshakeTests {
    @Test("succeed with TLS 1.2 and later and with every offered group, and fail with older versions")
    func versions() async throws {
        let files = try await CertificateFiles()
        func client(_ change: (inout TLSConfiguration) -> Void) throws -> NIOSSLContext {
            try files.clientContext("own", change)
        }
        try await RunningRelay.run(transport: files.relayTransport()) { relay in
            func reaches(_ tls: NIOSSLContext) async throws {
                let (phone, client) = try await RunningRelay(server: relay.server, address: relay.address, tls: tls)
                    .pair()
                try await phone.send(Wire.frame([7]))
                #expect(try await client.readMessage() == [7])
            }
            for version in [TLSVersion.tlsv12, .tlsv13] {
                try await reaches(
                    client {
                        $0.minimumTLSVersion = version
                        $0.maximumTLSVersion = version
                    }
                )
            }
            for group in [NIOTLSCurve.x25519_MLKEM768, .x25519, .secp256r1, .secp384r1] {
                try await reaches(client { $0.curves = [group] })
            }
            let old = try client {
                $0.minimumTLSVersion = .tlsv1
                $0.maximumTLSVersion = .tlsv11
            }
            await #expect(throws: (any Error).self) { try await reaches(old) }
        }
    }

    @Test("are resumed with a ticket", arguments: ["-tls1_2", "-tls1_3"])
    func tickets(version: String) async throws {
        let files = try await CertificateFiles()
        let folder = FileManager.default.temporaryDirectory.path() + "/tickets-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // The relay's response follows its ticket and ends the connection.
        try Data("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8).write(to: URL(filePath: folder + "/request"))
        try await RunningRelay.run(transport: files.relayTransport()) { relay in
            let port = try #require(relay.address.port)
            func connect(_ options: [String]) async throws -> String {
                let output = "\(folder)/\(UUID().uuidString)"
                let client = try SpawnedProcess(
                    ["openssl", "s_client", "-connect", "127.0.0.1:\(port)", version, "-ign_eof"] + options,
                    environment: ["PATH": "/usr/bin:/bin"],
                    input: folder + "/request",
                    output: output
                )
                _ = try await client.end()
                return try String(decoding: Data(contentsOf: URL(filePath: output)), as: UTF8.self)
            }
            let first = try await connect(["-sess_out", folder + "/session"])
            #expect(first.contains("New, TLS") && first.contains("HTTP/1.1 404 "))
            let second = try await connect(["-sess_in", folder + "/session"])
            #expect(second.contains("Reused, TLS") && second.contains("HTTP/1.1 404 "))
        }
    }

    @Test("cannot be repeated on a connection")
    func renegotiation() async throws {
        let files = try await CertificateFiles()
        let folder = FileManager.default.temporaryDirectory.path() + "/renegotiation-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // A command of openssl.
        try Data("R\n".utf8).write(to: URL(filePath: folder + "/command"))
        try await RunningRelay.run(transport: files.relayTransport()) { relay in
            let port = try #require(relay.address.port)
            let client = try SpawnedProcess(
                ["openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-tls1_2"],
                environment: ["PATH": "/usr/bin:/bin"],
                input: folder + "/command",
                errors: folder + "/errors"
            )
            #expect(try await client.end() == 1)
            let errors = try String(decoding: Data(contentsOf: URL(filePath: folder + "/errors")), as: UTF8.self)
            #expect(errors.contains("RENEGOTIATING") && errors.contains("no renegotiation"), "\(errors)")
            try await Waiting.until("the connection to be closed") { relay.server.connections == 0 }
        }
    }
}
