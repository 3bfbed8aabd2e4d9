// SPDX-License-Identifier: Apache-2.0

import HybridPasskeysModel
import Testing

/// Returns the event of a check.
private func check(_ name: String, _ state: String, more: String = "") throws -> AuthEvent {
    try #require(AuthEvent(line(#"{"event":"check","check":"\#(name)","state":"\#(state)","found":"run it"\#(more)}"#)))
}

@Suite("The check of this device")
struct HealthReportTests {
    private func report(_ events: AuthEvent...) -> HealthReport {
        var report = HealthReport()
        report.start()
        for event in events { _ = report.receive(event) }
        report.end(status: 0)
        return report
    }

    @Test("is no promise if it ended early", arguments: [nil, 130, 70] as [Int32?])
    func interrupted(status: Int32?) throws {
        var report = HealthReport()
        report.start()
        _ = report.receive(try check("adapter", "ok"))
        report.end(status: status)
        #expect(report.verdict == "The check was interrupted")
    }

    @Test("shows findings as they come")
    func progress() throws {
        var report = HealthReport()
        let found = try check("adapter", "ok")
        #expect(!report.isRunning)
        #expect(report.receive(found) == false)
        report.start()
        #expect(report.verdict == "Checking…")
        #expect(report.receive(found) == true)
        #expect(report.findings.count == 1)
        #expect(report.receive(.notice("x")) == false)
        #expect(report.receive(.state("x", operation: nil)) == false)
        report.end(status: 0)
        #expect(report.verdict == "Ready to sign in" && report.problem == nil)
    }

    @Test("has a verdict")
    func verdict() throws {
        let warning = try check("notifications", "warning")
        let failed = try check("relay", "failed")
        #expect(report(warning).verdict == "Ready, with 1 thing to look at")
        #expect(report(warning, failed).verdict == "1 problem prevents signing in")
        #expect(report(failed, failed).verdict == "2 problems prevent signing in")
    }

    @Test("that did not run has a problem")
    func notRun() {
        var report = HealthReport()
        report.start()
        report.end(status: 64)
        #expect(report.problem?.code == "usage" && report.verdict == "The parts of this app do not fit together")
        report.start()
        report.end(status: 0)
        #expect(report.problem == .ended)
    }

    @Test(
        "has the app's own sentence for each check and state, never a command",
        arguments: [
            "system-bus", "bluetooth-service", "adapter", "advertising", "own-advert", "proxy", "authorities", "relay",
            "relay-token", "clock", "pinentry", "vault", "vault-permissions", "vault-pin", "vault-slots",
            "sync-conflicts",
            "tpm", "tpm-lockout", "linked-computers", "link-service", "fingerprint", "fingerprint-service",
            "push-service", "push-subscription", "notifications", "something-new",
        ]
    )
    func sentences(name: String) throws {
        for state in ["ok", "warning", "failed", "skipped"] {
            guard case .finding(let finding) = try check(name, state) else { return }
            #expect(!finding.sentence.isEmpty && !finding.sentence.contains("run it"))
            #expect(finding.technical == "Run it.")
            #expect(name == "something-new" ? finding.title == name : finding.title != name)
            if state == "ok" || state == "skipped" { #expect(finding.fix == nil) }
        }
    }

    @Test("leads on where a problem can be solved")
    func fixes() throws {
        for (name, fix) in [
            ("adapter", .bluetoothSettings), ("relay", .chooseRelay), ("vault-slots", .vaultPage),
            ("link-service", .turnOnReachable), ("clock", nil),
        ] as [(String, HealthFinding.Fix?)] {
            guard case .finding(let finding) = try check(name, "failed") else { return }
            #expect(finding.fix == fix, "\(name)")
        }
    }

    @Test("can be copied without the user's relay, computers and paths")
    func text() throws {
        let finding = try check("relay", "failed", more: #","subject":"my.example","remedy":"ask my.example""#)
        let words = #"see (/home/ada/vault) of \"Ada's laptop\" at my.example"#
        let vault = try check("vault", "ok", more: #","remedy":"\#(words)""#)
        let text = report(finding, vault).text
        #expect(text == "failed relay: Run it. Ask (relay).\nfine vault: Run it. See (path) of (name) at (relay).")
    }

    @Test("is bounded and safe")
    func hostile() throws {
        var report = HealthReport()
        report.start()
        for _ in 0..<1000 { _ = report.receive(try check("<i>x", "ok", more: #","subject":"a\u202eb""#)) }
        #expect(report.findings.count == 200 && report.findings.first?.title == "ix")
        guard case .finding(let relay) = try check("relay", "ok", more: #","subject":"a\u202eb""#) else { return }
        #expect(relay.title == "Relay ab")
    }
}
