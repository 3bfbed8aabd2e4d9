// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
package import HybridNetwork
package import TestSupport

/// Connections of the product's client to OpenSSL's server, with the sessions of earlier ones.
package enum EarlyDataRuns {
    /// Options of a server that accepts early data.
    package static let arguments = ["-tls1_3", "-early_data", "-no_anti_replay"]
    /// A line of OpenSSL's server, which it writes later than the early data itself.
    package static let mark = "Early data received:\n"

    /// The server received early data although the client had no session.
    struct UnexpectedEarlyData: Error {}

    /// Runs `body` with a server, the client's TLS, and sessions of a first connection.
    package static func withSession(
        _ arguments: [String] = arguments,
        sessions: TLSSessions = TLSSessions(),
        _ body: (TestFolder, OpenSSLServer, ClientTLS, TLSSessions) async throws -> Void
    ) async throws {
        try await TestFolder.with { folder in
            let server = try await OpenSSLServer(.relay, arguments, in: folder)
            let tls = try ClientTLS(trustedCertificates: try await TestCertificates.shared().authority)
            try await connect(server, tls, sessions, request: "first\n")
            guard !server.output.contains(mark) else { throw UnexpectedEarlyData() }
            try await body(folder, server, tls, sessions)
        }
    }

    /// Sends a request, waits for an answer, and closes the connection.
    package static func connect(
        _ server: OpenSSLServer,
        _ tls: ClientTLS,
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
        if let failure = client.failure { throw failure }
        await client.close()
    }

    /// Returns the number of times that a text occurs.
    package static func count(_ text: String, in output: String) -> Int { output.ranges(of: text).count }
}
