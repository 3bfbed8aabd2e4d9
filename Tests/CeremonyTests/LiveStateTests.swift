// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridVirtualBlueZ
import TestSupport
import Testing

/// Progress reports of the client during a ceremony: for users, for programs, and when Bluetooth becomes unavailable.
@Suite("Progress reports", .keepsEvidence, .serialized)
struct LiveStateTests {
    @Test("JSON events report each state once, in order, with the time")
    func states() async throws {
        try await CeremonyEnvironment.run { environment in
            let (client, code) = try await environment.startClient(
                try await environment.site("create-options"),
                extra: ["--json"]
            )
            let phone = try environment.startAuthenticator(code, extra: ["--json"])
            let (asked, answered) = (try await client.ending(), try await phone.ending())
            try #require(asked.status == 0 && answered.status == 0, "\(asked)\n\(answered)")
            let steps = try answered.events()
            #expect(
                steps.map { $0["state"] ?? $0["notice"] ?? $0["event"] }
                    == [
                        "virtual-radio", "vault-made", "tunnel-open", "advertising", "connected", "asked", "answered",
                        "done",
                    ]
            )
            #expect(steps[5]["operation"] == "create")
            let events = try asked.events()
            let states = events.map { $0["state"] ?? $0["notice"] ?? $0["event"] }
            #expect(
                states == ["request", "virtual-radio", "qr", "scan", "phone-found", "connecting", "confirm", "done"]
            )
            #expect(events[0]["operation"] == "create" && events[0]["rp_id"] == "example.com")
            #expect(try events[0].number("timeout_ms") > 0)
            #expect(events[5]["relay"] == .text(CeremonyEnvironment.host))
            let times = try events.map { try $0.number("elapsed_ms") }
            #expect(times == times.sorted())
            #expect(!asked.output.contains("FIDO:/") && !asked.errors.contains("clientDataJSON"))
        }
    }

    @Test("the last JSON event of a failure has the cause and the remedy")
    func failure() async throws {
        try await CeremonyEnvironment.run { environment in
            let options = try await environment.site("create-options")
            let (client, _) = try await environment.startClient(options, extra: ["--json", "--timeout", "10"])
            let ending = try await client.ending()
            #expect(ending.status == 75)
            let last = try #require(try ending.events().last)
            #expect(last["event"] == "error" && last["code"] == "phone-not-nearby")
            #expect(try last.text("message").contains("no phone was found"))
            #expect(try last.text("remedy").contains("Bluetooth on"))
            #expect(ending.output.isEmpty)
            try await environment.untilNoAdverts()
        }
    }

    /// An outage of Bluetooth.
    enum Outage: CaseIterable {
        case switchedOff, serviceGone

        func begin(_ environment: CeremonyEnvironment) async throws {
            switch self {
            case .switchedOff: try await environment.air.setPowered("hci0", false)
            case .serviceGone: try await environment.air.stopService()
            }
        }

        func end(_ environment: CeremonyEnvironment) async throws {
            switch self {
            case .switchedOff: try await environment.air.setPowered("hci0", true)
            case .serviceGone: try await environment.air.startService()
            }
        }

        var code: String { self == .switchedOff ? "adapter-off" : "bluetooth-service-gone" }
    }

    @Test(
        "if Bluetooth becomes unavailable while the code is shown, the client waits, and the code stays valid",
        arguments: Outage.allCases
    )
    func outage(_ outage: Outage) async throws {
        try await CeremonyEnvironment.run { environment in
            let options = try await environment.site("create-options")
            let (client, code) = try await environment.startClient(options, extra: ["--json", "--adapter", "hci0"])
            for _ in 1...2 {
                let count = client.errors.utf8.count
                try await outage.begin(environment)
                let lost = try await Self.wait(for: "radio-lost", of: client, after: count)
                #expect(lost.contains(#""code":"\#(outage.code)""#), "\(client.errors)")
                try await outage.end(environment)
                try await Self.wait(for: "radio-back", of: client, after: count)
            }
            let phone = try environment.startAuthenticator(code, extra: ["--adapter", "hci1"])
            let (asked, answered) = (try await client.ending(), try await phone.ending())
            #expect(asked.status == 0 && answered.status == 0, "\(asked)\n\(answered)")
            try await environment.untilNoAdverts()
        }
    }

    @Test("if Bluetooth does not return in time, that is the reported cause, not a missing phone")
    func noReturn() async throws {
        try await CeremonyEnvironment.run { environment in
            let options = try await environment.site("create-options")
            let (client, _) = try await environment.startClient(
                options,
                extra: ["--json", "--adapter", "hci0", "--timeout", "20"]
            )
            try await environment.air.setPowered("hci0", false)
            let ending = try await client.ending()
            let last = try #require(try ending.events().last)
            #expect(ending.status == 69 && last["code"] == "adapter-off", "\(ending)")
        }
    }

    /// Returns the first complete line with a notice after a number of bytes.
    @discardableResult
    private static func wait(
        for notice: String,
        of client: RunningProgram,
        after count: Int
    ) async throws -> String {
        var line: Substring?
        try await Waiting.until("the notice \(notice)", evidence: client.errors) {
            let text = String(decoding: client.errors.utf8.dropFirst(count), as: UTF8.self)
            line = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first {
                $0.contains(notice)
            }
            return line != nil
        }
        return String(try #require(line))
    }

    @Test("an interrupt while the code is shown ends the client with one event")
    func interrupted() async throws {
        try await CeremonyEnvironment.run { environment in
            let options = try await environment.site("create-options")
            let (client, _) = try await environment.startClient(options, extra: ["--json"])
            client.send(SIGINT)
            let ending = try await client.ending()
            let last = try #require(try ending.events().last)
            #expect(ending.status == 130 && last["code"] == "interrupted")
            #expect(!ending.errors.contains("radio-lost"), "Bluetooth is still available")
        }
    }

    @Test("on a terminal the current state is redrawn in place, and earlier states stay with their times")
    func terminal() async throws {
        try await CeremonyEnvironment.run { environment in
            let options = try await environment.site("create-options")
            let request = environment.folder + "/request.json"
            try TestFile.write(options, to: request)
            let words =
                [
                    BuildFolder.program("hybrid-client"), "show-qr", "--request", request, "--origin",
                    CeremonyEnvironment.origin, "--print-url",
                ] + environment.network
            // `script` provides a terminal of 80 columns and records its output.
            let shown = environment.folder + "/typescript"
            let command = words.map { "'\($0)'" }.joined(separator: " ")
            let terminal = try environment.start(
                "/usr/bin/script",
                ["-qefc", "stty cols 80 rows 24; exec \(command)", shown],
                variables: ["TERM": "xterm"]
            )
            func text() -> String { TestFile.text(shown) }
            let redrawn = "\r\u{1B}[K"
            try await Waiting.until("a state that is redrawn", evidence: text()) {
                text().components(separatedBy: redrawn).count > 2
            }
            let lines = text().replacingOccurrences(of: "\r\n", with: "\n").split(separator: "\n")
            let code = try #require(lines.first { $0.hasPrefix("FIDO:/") })
            let phone = try environment.startAuthenticator(String(code))
            #expect(try await phone.ending().status == 0)
            #expect(try await terminal.ending().status == 0)
            let screen = Self.screen(text())
            let states = [
                "scan the code with your phone", "phone found", "connecting through", "confirm on your phone",
            ]
            for state in states {
                #expect(screen.count { $0.contains(state) } == 1, "\(state) in \(screen)")
            }
            #expect(screen.contains { $0.hasPrefix("hybrid-client: done (") }, "\(screen)")
        }
    }

    /// Returns the lines on a terminal that implements `\r` and "erase to the end of the line".
    private static func screen(_ text: String) -> [String] {
        text.replacingOccurrences(of: "\r\n", with: "\n").split(separator: "\n").map { line in
            String(line.components(separatedBy: "\r\u{1B}[K").last ?? "")
        }
    }
}
