// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import NetworkTestSupport
import TestSupport
import Testing

@testable import HybridNetwork

@Suite("TLS 1.3 sessions and early data with OpenSSL", .timeLimit(.minutes(5)))
struct EarlyDataTests {
    private static let early = EarlyDataRuns.arguments
    private static let host = TestCertificates.domain?.host ?? ""
    private static let mark = EarlyDataRuns.mark

    @Test("The request of a second connection arrives as early data, once, and the answer is read")
    func accepted() async throws {
        try await EarlyDataRuns.withSession { _, server, tls, sessions in
            try await EarlyDataRuns.connect(server, tls, sessions, request: "second\n")
            #expect(server.output.contains(Self.mark))
            #expect(EarlyDataRuns.count("second\n", in: server.output) == 1)
        }
    }

    @Test("Sessions in files serve the connections of other processes")
    func files() async throws {
        try await TestFolder.with { folder in
            try await EarlyDataRuns.withSession(sessions: TLSSessions(folder: folder.path)) { _, server, tls, _ in
                try await EarlyDataRuns.connect(server, tls, TLSSessions(folder: folder.path), request: "second\n")
                #expect(server.output.contains(Self.mark))
                #expect(EarlyDataRuns.count("second\n", in: server.output) == 1)
            }
        }
    }

    @Test("Without sessions left, or unless it is asked for, no early data is sent")
    func notAskedFor() async throws {
        try await EarlyDataRuns.withSession { _, server, tls, sessions in
            try await EarlyDataRuns.connect(server, tls, sessions, sendsEarlyData: false, request: "second\n")
            try await EarlyDataRuns.connect(server, tls, nil, request: "third\n")
            try await EarlyDataRuns.connect(server, tls, TLSSessions(), request: "fourth\n")
            #expect(!server.output.contains(Self.mark))
        }
    }

    @Test("A server that does not know the session gets the request after the handshake")
    func rejected() async throws {
        try await EarlyDataRuns.withSession { folder, _, tls, sessions in
            let other = try await OpenSSLServer(.relay, Self.early, in: folder)
            try await EarlyDataRuns.connect(other, tls, sessions, request: "second\n")
            #expect(!other.output.contains(Self.mark))
            #expect(EarlyDataRuns.count("second\n", in: other.output) == 1)
        }
    }

    @Test("A server that asks for another group gets the request after the handshake")
    func retriedHello() async throws {
        try await EarlyDataRuns.withSession(Self.early + ["-groups", "P-384"]) { _, server, tls, sessions in
            try await EarlyDataRuns.connect(server, tls, sessions, request: "second\n")
            #expect(!server.output.contains(Self.mark))
            #expect(EarlyDataRuns.count("second\n", in: server.output) == 1)
        }
    }

    @Test("A server's limit of early data is respected, and the rest follows after the handshake")
    func limited() async throws {
        try await EarlyDataRuns.withSession(Self.early + ["-max_early_data", "4"]) { _, server, tls, sessions in
            let client = try await TLSTestClient(to: server.port, tls, sessions: sessions, request: "0123456789\n")
            try await server.wait(for: "456789\n")
            #expect(server.output.contains(Self.mark) && server.output.contains("0123"))
            #expect(!server.output.contains("0123456789"))
            await client.close()
        }
    }

    @Test("A rejected request whose first part was early data arrives whole")
    func limitedAndRejected() async throws {
        try await EarlyDataRuns.withSession(Self.early + ["-max_early_data", "4"]) { folder, _, tls, sessions in
            let other = try await OpenSSLServer(.relay, Self.early, in: folder)
            try await EarlyDataRuns.connect(other, tls, sessions, request: "0123456789\n")
            #expect(!other.output.contains(Self.mark))
        }
    }

    @Test("A session of other trust anchors is not used, and the certificate is verified")
    func otherAnchors() async throws {
        try await EarlyDataRuns.withSession { _, server, _, sessions in
            let other = try ClientTLS(trustedCertificates: try await TestCertificates.shared().path("unknown.pem"))
            let client = try await TLSTestClient(to: server.port, other, sessions: sessions, request: "second\n")
            await client.waitForEnd()
            #expect(client.failure == .certificateNotTrusted)
            #expect(!server.output.contains("second"))
        }
    }

    @Test(
        "After a rejected session, another server's certificate is verified",
        arguments: [
            (.unknownAuthority, .certificateNotTrusted), (.otherHost, .otherHost),
        ] as [(TestCertificates.Identity, TLSFailure)]
    )
    func otherServer(identity: TestCertificates.Identity, expected: TLSFailure) async throws {
        try await EarlyDataRuns.withSession { folder, _, tls, sessions in
            let other = try await OpenSSLServer(identity, Self.early, in: folder)
            let client = try await TLSTestClient(to: other.port, tls, sessions: sessions, request: "second\n")
            await client.waitForEnd()
            #expect(client.failure == expected)
            #expect(!other.output.contains("second"))
        }
    }

    @Test("No session is kept of a connection whose certificate is for another host, or not verified")
    func unverified() async throws {
        try await TestFolder.with { folder in
            let server = try await OpenSSLServer(.otherHost, Self.early, in: folder)
            let anchors = try await TestCertificates.shared().authority
            let sessions = TLSSessions(folder: folder.path)
            let client = try await TLSTestClient(
                to: server.port,
                try ClientTLS(trustedCertificates: anchors),
                sessions: sessions,
                request: "first\n"
            )
            await client.waitForEnd()
            #expect(client.failure == .otherHost)
            try await EarlyDataRuns.connect(server, try .unverified(), sessions, request: "second\n")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(!files.contains { $0.hasSuffix(".tls") })
        }
    }

    @Test("A server without early data leaves no session, nor does TLS 1.2", arguments: ["-tls1_3", "-tls1_2"])
    func withoutEarlyData(version: String) async throws {
        try await TestFolder.with { folder in
            let sessions = TLSSessions(folder: folder.path)
            try await EarlyDataRuns.withSession([version], sessions: sessions) { _, _, _, _ in
                let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(files == [])
            }
        }
    }

    @Test("A damaged session is ignored")
    func damaged() async throws {
        try await EarlyDataRuns.withSession { _, server, tls, _ in
            let digest = try await Self.anchors()
            let sessions = TLSSessions()
            let garbage = try #require([UInt8](repeating: 0x30, count: 200).withUnsafeBytes { TLSSession(bytes: $0) })
            sessions.put(garbage, for: TLSSessions.Key(host: Self.host, anchors: digest))
            try await EarlyDataRuns.connect(server, tls, sessions, request: "second\n")
            #expect(!server.output.contains(Self.mark))
        }
    }

    @Test("Of the many sessions that a server offers, a connection keeps four")
    func manySessions() async throws {
        try await EarlyDataRuns.withSession(Self.early + ["-num_tickets", "500"]) { _, _, _, sessions in
            let key = TLSSessions.Key(host: Self.host, anchors: try await Self.anchors())
            var count = 0
            while sessions.take(key) != nil { count += 1 }
            #expect(count == 4)
        }
    }

    @Test("A session whose certificate is no longer trusted is not used, and the server gets no early data")
    func noLongerTrusted() async throws {
        try await EarlyDataRuns.withSession { _, server, _, sessions in
            let anchors = try await Self.anchors()
            let session = try #require(sessions.take(TLSSessions.Key(host: Self.host, anchors: anchors)))
            // As if the system's list had changed, whose key is always the same.
            let changed = try await TestCertificates.shared().path("unknown.pem")
            let digest = try TrustAnchors.context(changed).digest
            sessions.put(session, for: TLSSessions.Key(host: Self.host, anchors: digest))
            let client = try await TLSTestClient(
                to: server.port,
                try ClientTLS(trustedCertificates: changed),
                sessions: sessions,
                request: "second\n"
            )
            try await Waiting.until("the end", evidence: server.output) {
                client.failure != nil || server.output.contains("second\n")
            }
            #expect(client.failure == .certificateNotTrusted)
            #expect(!server.output.contains("second"))
            await client.close()
        }
    }

    private static func anchors() async throws -> [UInt8] {
        try TrustAnchors.context(try await TestCertificates.shared().authority).digest
    }
}
