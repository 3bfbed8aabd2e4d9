// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridRelayCheck
import HybridRelayCore
import TestSupport
import Testing

@Suite("This project's relay, looked at from outside", .serialized, .timeLimit(.minutes(10)))
struct RealRelayTests {
    @Test("is as expected without TLS, in every check that applies")
    func plain() async throws {
        try await withRealRelay { port in
            var options = CheckOptions.testing
            options.isSlow = true
            let report = try await check("ws://127.0.0.1:\(port)", options)
            #expect(report.complaints == [])
            #expect(report.verdict == .conforms)
            #expect(report.results.map(\.id) == CheckID.allCases)
            let skipped = report.results.filter { if case .skipped = $0.outcome { true } else { false } }
            // A machine that does much else can't tell delays.
            #expect(skipped.map(\.id).filter { $0 != .roundTrip } == [.tlsCertificate, .tlsVersion, .token])
            #expect(report.connections == 38)
            #expect(report.address == "127.0.0.1:\(port)")
        }
    }

    @Test("is as expected with TLS, and by a detour")
    func secure() async throws {
        try await TestCertificate.with("DNS:relay.example") { certificate in
            try await withRealRelay(.tls(try certificate.context())) { port in
                var options = CheckOptions.testing
                options.trustedCertificates = certificate.file
                options.detour = RelayDetour("relay.example:443:127.0.0.1:\(port)")
                let report = try await check("wss://relay.example", options)
                #expect(report.complaints == [])
                #expect(report.connections == 39)
                #expect(report.outcome(.tlsVersion) == .ok("TLS 1.3"))
                let json = try JSONDecoder().decode(JSONValue.self, from: Data(try report.json()))
                #expect(json["verdict"] == .text("conforms"))
                guard case .list(let checks) = json["checks"] else {
                    Issue.record("no list of checks")
                    return
                }
                #expect(checks.map { $0["id"] } == CheckID.allCases.map { .text($0.rawValue) })
            }
        }
    }

    @Test("a port where nobody listens cannot be reached; a file without certificates cannot be used")
    func failures() async throws {
        let port = try DeafPort()
        await #expect {
            try await check("ws://127.0.0.1:\(port.number)")
        } throws: { error in
            if case CheckFailure.unreachable = error { true } else { false }
        }
        var options = CheckOptions.testing
        options.trustedCertificates = "/dev/null"
        await #expect(throws: CheckFailure.certificatesUnusable("/dev/null")) {
            try await check("wss://127.0.0.1:\(port.number)", options)
        }
    }
}
