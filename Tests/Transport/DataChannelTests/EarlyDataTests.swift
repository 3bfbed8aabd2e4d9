// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("TLS 1.3 sessions and early data with OpenSSL", .timeLimit(.minutes(5)))
struct EarlyDataTests {
    private static let early = ["-tls1_3", "-early_data", "-no_anti_replay"]
    private static let host = TestCertificates.domain?.host ?? ""
    /// A line of OpenSSL's server, which it writes later than the early data itself.
    private static let mark = "Early data received:\n"

    /// Runs `body` with a server, the client's TLS, and sessions of a first connection.
    private static func withSession(
        _ arguments: [String] = early,
        sessions: TLSSessions = TLSSessions(),
        _ body: (TestFolder, OpenSSLServer, TunnelTLS, TLSSessions) async throws -> Void
    ) async throws {
        try await TestFolder.with { folder in
            let server = try await OpenSSLServer(.relay, arguments, in: folder)
            let tls = try TunnelTLS(trustedCertificates: try await TestCertificates.shared().authority)
            try await connect(server, tls, sessions, request: "first\n")
            #expect(!server.output.contains(mark))
            try await body(folder, server, tls, sessions)
        }
    }

    /// Sends a request, waits for an answer, and closes the connection.
    private static func connect(
        _ server: OpenSSLServer,
        _ tls: TunnelTLS,
        _ sessions: TLSSessions?,
        sendsEarlyData: Bool = true,
        request: String
    ) async throws {
        let client = try await TLSTestClient(
            to: server.port,
            tls,
            sessions: sessions,
            sendsEarlyData: sendsEarlyData,
            request: request
        )
        try await server.wait(for: request)
        // The tickets arrive before this.
        try server.send("answer")
        try await Waiting.until("the answer", evidence: "\(server.output)\(String(describing: client.failure))") {
            client.received.contains("answer\n")
        }
        #expect(client.failure == nil)
        await client.close()
    }

    private static func count(_ text: String, in output: String) -> Int {
        output.components(separatedBy: text).count - 1
    }

    @Test("The request of a second connection arrives as early data, once, and the answer is read")
    func accepted() async throws {
        try await Self.withSession { _, server, tls, sessions in
            try await Self.connect(server, tls, sessions, request: "second\n")
            #expect(server.output.contains(Self.mark))
            #expect(Self.count("second\n", in: server.output) == 1)
        }
    }

    @Test("Sessions in files serve the connections of other processes")
    func files() async throws {
        try await TestFolder.with { folder in
            try await Self.withSession(sessions: TLSSessions(folder: folder.path)) { _, server, tls, _ in
                try await Self.connect(server, tls, TLSSessions(folder: folder.path), request: "second\n")
                #expect(server.output.contains(Self.mark))
                #expect(Self.count("second\n", in: server.output) == 1)
            }
        }
    }

    @Test("Without sessions left, or unless it is asked for, no early data is sent")
    func notAskedFor() async throws {
        try await Self.withSession { _, server, tls, sessions in
            try await Self.connect(server, tls, sessions, sendsEarlyData: false, request: "second\n")
            try await Self.connect(server, tls, nil, request: "third\n")
            try await Self.connect(server, tls, TLSSessions(), request: "fourth\n")
            #expect(!server.output.contains(Self.mark))
        }
    }

    @Test("A server that does not know the session gets the request after the handshake")
    func rejected() async throws {
        try await Self.withSession { folder, _, tls, sessions in
            let other = try await OpenSSLServer(.relay, Self.early, in: folder)
            try await Self.connect(other, tls, sessions, request: "second\n")
            #expect(!other.output.contains(Self.mark))
            #expect(Self.count("second\n", in: other.output) == 1)
        }
    }

    @Test("A server that asks for another group gets the request after the handshake")
    func retriedHello() async throws {
        try await Self.withSession(Self.early + ["-groups", "P-384"]) { _, server, tls, sessions in
            try await Self.connect(server, tls, sessions, request: "second\n")
            #expect(!server.output.contains(Self.mark))
            #expect(Self.count("second\n", in: server.output) == 1)
        }
    }

    @Test("A server's limit of early data is respected, and the rest follows after the handshake")
    func limited() async throws {
        try await Self.withSession(Self.early + ["-max_early_data", "4"]) { _, server, tls, sessions in
            let client = try await TLSTestClient(to: server.port, tls, sessions: sessions, request: "0123456789\n")
            try await server.wait(for: "456789\n")
            #expect(server.output.contains(Self.mark) && server.output.contains("0123"))
            #expect(!server.output.contains("0123456789"))
            await client.close()
        }
    }

    @Test("A rejected request whose first part was early data arrives whole")
    func limitedAndRejected() async throws {
        try await Self.withSession(Self.early + ["-max_early_data", "4"]) { folder, _, tls, sessions in
            let other = try await OpenSSLServer(.relay, Self.early, in: folder)
            try await Self.connect(other, tls, sessions, request: "0123456789\n")
            #expect(!other.output.contains(Self.mark))
        }
    }

    @Test("A session of other trust anchors is not used, and the certificate is verified")
    func otherAnchors() async throws {
        try await Self.withSession { _, server, _, sessions in
            let other = try TunnelTLS(trustedCertificates: try await TestCertificates.shared().path("unknown.pem"))
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
        try await Self.withSession { folder, _, tls, sessions in
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
                try TunnelTLS(trustedCertificates: anchors),
                sessions: sessions,
                request: "first\n"
            )
            await client.waitForEnd()
            #expect(client.failure == .otherHost)
            try await Self.connect(server, try .unverified(), sessions, request: "second\n")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(!files.contains { $0.hasSuffix(".tls") })
        }
    }

    @Test("A server without early data leaves no session, nor does TLS 1.2", arguments: ["-tls1_3", "-tls1_2"])
    func withoutEarlyData(version: String) async throws {
        try await TestFolder.with { folder in
            let sessions = TLSSessions(folder: folder.path)
            try await Self.withSession([version], sessions: sessions) { _, _, _, _ in
                let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(files == [])
            }
        }
    }

    @Test("A damaged session is ignored")
    func damaged() async throws {
        try await Self.withSession { _, server, tls, _ in
            let digest = try await Self.anchors()
            let sessions = TLSSessions()
            let garbage = try #require([UInt8](repeating: 0x30, count: 200).withUnsafeBytes { TLSSession(bytes: $0) })
            sessions.put(garbage, for: TLSSessions.Key(host: Self.host, anchors: digest))
            try await Self.connect(server, tls, sessions, request: "second\n")
            #expect(!server.output.contains(Self.mark))
        }
    }

    @Test("Of the many sessions that a server offers, a connection keeps four")
    func manySessions() async throws {
        try await Self.withSession(Self.early + ["-num_tickets", "500"]) { _, _, _, sessions in
            let key = TLSSessions.Key(host: Self.host, anchors: try await Self.anchors())
            var count = 0
            while sessions.take(key) != nil { count += 1 }
            #expect(count == 4)
        }
    }

    @Test("A session whose certificate is no longer trusted is not used, and the server gets no early data")
    func noLongerTrusted() async throws {
        try await Self.withSession { _, server, _, sessions in
            let anchors = try await Self.anchors()
            let session = try #require(sessions.take(TLSSessions.Key(host: Self.host, anchors: anchors)))
            // As if the system's list had changed, whose key is always the same.
            let changed = try await TestCertificates.shared().path("unknown.pem")
            let digest = try TrustAnchors.context(changed).digest
            sessions.put(session, for: TLSSessions.Key(host: Self.host, anchors: digest))
            let client = try await TLSTestClient(
                to: server.port,
                try TunnelTLS(trustedCertificates: changed),
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

    // MARK: Requests to a relay

    private static let join = TunnelPath.connect(RoutingID(node: 7, check: 9), .test)

    /// Returns a relay at the server's port, with sessions of earlier connections.
    private static func relay(_ server: OpenSSLServer, _ sessions: TLSSessions) async throws -> RelayEndpoint {
        var relay = try await ScriptedRelay.endpoint(port: server.port)
        relay.network.sessions = sessions
        return relay
    }

    /// Waits for a number of requests, and answers the last one.
    private static func answer(_ server: OpenSSLServer, request number: Int, _ status: String) async throws {
        try await Waiting.until("request \(number)", evidence: server.output) {
            count("GET /cable/", in: server.output) == number
        }
        try server.send("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r")
    }

    @Test(
        "A request to join is sent as early data, without the token; one for a new tunnel is sent later, with it",
        arguments: [true, false]
    )
    func requests(joins: Bool) async throws {
        try await Self.withSession { _, server, _, sessions in
            let relay = try await Self.relay(server, sessions)
            let token = BearerToken("hunter2".utf8)
            async let refused = Client.refusal(at: relay, joins ? Self.join : Client.tunnel, bearerToken: token)
            try await Self.answer(server, request: 1, "404 Not Found")
            let refusal = await refused
            #expect(refusal == .tunnelNotFound)
            #expect(server.output.contains(Self.mark) == joins)
            #expect(server.output.contains("hunter2") == !joins)
        }
    }

    @Test("A relay that answers 425 gets the request once more, without early data")
    func tooEarly() async throws {
        try await Self.withSession { _, server, _, sessions in
            let relay = try await Self.relay(server, sessions)
            async let refused = Client.refusal(at: relay, Self.join)
            try await Self.answer(server, request: 1, "425 Too Early")
            try await Self.answer(server, request: 2, "425 Too Early")
            let refusal = await refused
            #expect(refusal == .refused(status: 425))
            #expect(Self.count(Self.mark, in: server.output) == 1)
            #expect(Self.count("GET /cable/", in: server.output) == 2)
        }
    }

    @Test("A relay that has changed to TLS 1.2 gets the request without early data")
    func olderVersion() async throws {
        try await Self.withSession { folder, _, _, sessions in
            let other = try await OpenSSLServer(.relay, ["-tls1_2"], in: folder)
            let relay = try await Self.relay(other, sessions)
            async let refused = Client.refusal(at: relay, Self.join)
            try await Self.answer(other, request: 1, "404 Not Found")
            let refusal = await refused
            #expect(refusal == .tunnelNotFound)
        }
    }

    private static func anchors() async throws -> [UInt8] {
        try TrustAnchors.context(try await TestCertificates.shared().authority).digest
    }
}
