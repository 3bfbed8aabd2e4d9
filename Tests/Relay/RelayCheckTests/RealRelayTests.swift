// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridNetwork
import HybridPrimitives
import HybridRelayCheck
import HybridRelayCore
import IntegrationTestSupport
import NIOCore
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
            #expect(skipped.map(\.id).prefix(2) == [.tlsCertificate, .tlsVersion])
            #expect(skipped.map(\.id).drop { $0 != .token } == CheckID.allCases.drop { $0 != .token })
            #expect(skipped.count - (report.outcome(.roundTrip)?.label == "ok" ? 0 : 1) == 14)
            #expect(report.connections == 41)
            #expect(report.address == "127.0.0.1:\(port)")
        }
    }

    private func offering(contactHost: String) -> (inout RelayConfiguration) -> Void {
        { $0.contactHost = contactHost }
    }

    @Test("With linked phones, their checks pass")
    func linked() async throws {
        // A check waits for the end of this time, and another one connects within it.
        let limits = RelayLimits.testing { $0.contactHold = .seconds(3) }
        try await TestRelay.run(limits: limits, configure: offering(contactHost: "127.0.0.1")) { _, address in
            let report = try await check("ws://127.0.0.1:\(try #require(address.port))")
            #expect(report.complaints == [])
            #expect(report.results.drop { $0.id != .listenProof }.allSatisfy { $0.outcome.label == "ok" })
            #expect(report.connections == 61)
        }
    }

    @Test("Signatures for another host than the relay's are not accepted")
    func otherContactHost() async throws {
        try await TestRelay.run(configure: offering(contactHost: "cable.example")) { _, address in
            let url = "ws://127.0.0.1:\(try #require(address.port))"
            let wrong = try await check(url)
            #expect(wrong.differing == [.listenProof])
            #expect(wrong.verdict == .differs)
            var options = CheckOptions.testing
            options.contactHost = "cable.example"
            #expect(try await check(url, options).complaints == [])
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
                #expect(report.connections == 42)
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
            (error as? NetworkError)?.code == "relay-connection-refused"
        }
        var options = CheckOptions.testing
        options.trustedCertificates = "/dev/null"
        await #expect(throws: NetworkError.trustAnchorsUnusable("/dev/null", reason: "it is empty")) {
            try await check("wss://127.0.0.1:\(port.port)", options)
        }
    }
}
