// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridDataChannel
import HybridPrimitives
import HybridRelayCheck
import HybridRelayCore
import TestSupport
import Testing

@Suite("Checks of this project's relay", .serialized, .timeLimit(.minutes(10)))
struct RealRelayTests {
    @Test("Without TLS, every check that applies passes")
    func plain() async throws {
        try await withRealRelay { port in
            var options = CheckOptions.testing
            options.isSlow = true
            let report = try await check("ws://127.0.0.1:\(port)", options)
            #expect(report.complaints == [])
            #expect(report.verdict == .conforms)
            #expect(report.results.map(\.id) == CheckID.allCases)
            let skipped = report.results.filter { if case .skipped = $0.outcome { true } else { false } }
            // A busy computer cannot measure delays.
            #expect(skipped.map(\.id).filter { $0 != .roundTrip } == [.tlsCertificate, .tlsVersion, .token])
            #expect(report.connections == 38)
            #expect(report.address == "127.0.0.1:\(port)")
        }
    }

    @Test("With TLS and --connect-to, every check passes")
    func secure() async throws {
        try await TestCertificate.with("DNS:relay.example") { certificate in
            try await withRealRelay(certificate.relayTransport()) { port in
                var options = CheckOptions.testing
                options.trustedCertificates = certificate.file
                options.connectTo = ConnectTo("relay.example:443:127.0.0.1:\(port)")
                let report = try await check("wss://relay.example", options)
                #expect(report.complaints == [])
                #expect(report.connections == 39)
                #expect(report.outcome(.tlsVersion) == .ok("TLS 1.3"))
                let json = try JSONDecoder().decode(JSONValue.self, from: Data(report.json.utf8))
                #expect(json["verdict"] == .text("conforms"))
                guard case .list(let checks) = json["checks"] else {
                    Issue.record("no list of checks")
                    return
                }
                #expect(checks.map { $0["id"] } == CheckID.allCases.map { .text($0.rawValue) })
            }
        }
    }

    @Test("Closed ports and files without certificates are reported")
    func failures() async throws {
        let port = try UnresponsiveSocket(isListening: false)
        await #expect {
            try await check("ws://127.0.0.1:\(port.port)")
        } throws: { error in
            (error as? TunnelError)?.code == "relay-unreachable"
        }
        var options = CheckOptions.testing
        options.trustedCertificates = "/dev/null"
        await #expect(throws: TunnelError.trustAnchorsUnusable("/dev/null")) {
            try await check("wss://127.0.0.1:\(port.port)", options)
        }
    }
}
