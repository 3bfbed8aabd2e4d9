// SPDX-License-Identifier: Apache-2.0

import HybridNetwork
import HybridPrimitives
import HybridRelayCheck
import HybridRelayCore
import IntegrationTestSupport
import NIOCore
import TestSupport
import Testing

@Suite("The prober's sign-ins", .serialized, .timeLimit(.minutes(10)))
struct SignInTests {
    private func signIn(_ url: String, _ options: CheckOptions = .testing) async throws -> SignInReport {
        try await SignInProber(relay: try RelayAddress(url), options: options).signIn()
    }

    private static let stages: [SignInStage] = [
        .connect, .open, .connect, .join, .handshake, .messages, .close, .total,
    ]

    @Test("pass all stages at this project's relay, and name its region")
    func plain() async throws {
        try await withRealRelay { port in
            let report = try await signIn("ws://127.0.0.1:\(port)")
            #expect(report.failure == nil, "\(report)")
            #expect(report.times.map(\.stage) == Self.stages)
            let total = try #require(report.times.last?.time)
            let parts = report.times.dropLast().reduce(Duration.zero) { $0 + $1.time }
            #expect(report.times.allSatisfy { $0.time > .zero } && parts <= total)
            #expect(report.region == 0 && report.certificateExpiry == nil)
        }
    }

    @Test("verify the certificate, and report its expiry")
    func secure() async throws {
        try await TestCertificate.with("DNS:relay.example") { certificate in
            try await withRealRelay(certificate.relayTransport()) { port in
                var options = CheckOptions.testing
                options.connectTo = ConnectTo("relay.example:443:127.0.0.1:\(port)")
                let untrusted = try await signIn("wss://relay.example", options)
                #expect(untrusted.failure?.stage == .connect)
                #expect(untrusted.failure?.reason.contains("the certificate is not trusted") == true)
                options.trustedCertificates = certificate.file
                let report = try await signIn("wss://relay.example", options)
                #expect(report.failure == nil, "\(report)")
                #expect(report.times.map(\.stage) == Self.stages)
                // openssl made it for two days.
                #expect(try #require(report.certificateExpiry) > 1_700_000_000)
            }
        }
    }

    @Test(
        "name the stage at which a faulty relay lets them down",
        arguments: [
            (Fault.noRoutingID, SignInStage.open), (.refusesNew, .open), (.refusesConnect, .join),
            (.changesBytes, .handshake), (.losesCloseCode, .close),
        ]
    )
    func faults(fault: Fault, stage: SignInStage) async throws {
        try await FaultyRelay.run(fault) { port in
            let report = try await signIn("ws://127.0.0.1:\(port)", .testing)
            #expect(report.failure?.stage == stage, "\(report)")
            #expect(!report.times.contains { $0.stage == .total })
        }
    }

    @Test("end at once at a closed port")
    func closed() async throws {
        let port = try UnresponsiveSocket(isListening: false)
        let report = try await signIn("ws://127.0.0.1:\(port.port)")
        #expect(report.failure?.stage == .connect && report.times.isEmpty && report.region == nil)
    }

    @Test(
        "dates are days that exist",
        arguments: [
            ("2027-05-01", 1_809_129_600), ("1970-01-02", 86_400), ("2027-02-30", nil), ("2027-5-1", nil), ("", nil),
            ("2027-05-01T00:00:00Z", nil), ("tomorrow", nil),
        ] as [(String, Int?)]
    )
    func dates(text: String, seconds: Int?) {
        #expect(ExpiryDate(text)?.secondsSince1970 == seconds)
    }
}
