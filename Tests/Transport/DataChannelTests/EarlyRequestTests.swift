// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import HybridNetwork
import NetworkTestSupport
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Requests to a relay as TLS 1.3 early data, with OpenSSL", .timeLimit(.minutes(5)))
struct EarlyRequestTests {
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
            EarlyDataRuns.count("GET /cable/", in: server.output) == number
        }
        try server.send("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r")
    }

    @Test(
        "A request to join is sent as early data, without the token; one for a new tunnel is sent later, with it",
        arguments: [true, false]
    )
    func requests(joins: Bool) async throws {
        try await EarlyDataRuns.withSession { _, server, _, sessions in
            let relay = try await Self.relay(server, sessions)
            let token = BearerToken("hunter2".utf8)
            async let refused = Client.refusal(at: relay, joins ? Self.join : Client.tunnel, bearerToken: token)
            try await Self.answer(server, request: 1, "404 Not Found")
            let refusal = await refused
            #expect(refusal == .tunnelNotFound)
            #expect(server.output.contains(EarlyDataRuns.mark) == joins)
            #expect(server.output.contains("hunter2") == !joins)
        }
    }

    @Test("A relay that answers 425 gets the request once more, without early data")
    func tooEarly() async throws {
        try await EarlyDataRuns.withSession { _, server, _, sessions in
            let relay = try await Self.relay(server, sessions)
            async let refused = Client.refusal(at: relay, Self.join)
            try await Self.answer(server, request: 1, "425 Too Early")
            try await Self.answer(server, request: 2, "425 Too Early")
            let refusal = await refused
            #expect(refusal == .network(.refused(status: 425)))
            #expect(EarlyDataRuns.count(EarlyDataRuns.mark, in: server.output) == 1)
            #expect(EarlyDataRuns.count("GET /cable/", in: server.output) == 2)
        }
    }

    @Test("A relay that has changed to TLS 1.2 gets the request without early data")
    func olderVersion() async throws {
        try await EarlyDataRuns.withSession { folder, _, _, sessions in
            let other = try await OpenSSLServer(.relay, ["-tls1_2"], in: folder)
            let relay = try await Self.relay(other, sessions)
            async let refused = Client.refusal(at: relay, Self.join)
            try await Self.answer(other, request: 1, "404 Not Found")
            let refusal = await refused
            #expect(refusal == .tunnelNotFound)
        }
    }
}
