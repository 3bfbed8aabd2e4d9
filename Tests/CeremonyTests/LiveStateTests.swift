// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridVirtualBlueZ
import TestSupport
import Testing

/// What the desktop tells while a ceremony goes on: to a person, to a program, and when Bluetooth goes away meanwhile.
@Suite("Live states", .keepsEvidence, .serialized)
struct LiveStateTests {
    /// The JSON objects on standard error.
    private static func events(_ ending: RunningProgram.Ending) throws -> [[String: Any]] {
        try ending.errors.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
    }

    /// Starts a desktop that tells a program, and waits for its code.
    private static func startClient(
        _ stage: Stage,
        _ options: String,
        extra: [String] = []
    ) async throws -> (program: RunningProgram, code: String) {
        let client = try RunningProgram(
            "hybrid-client",
            ["show-qr", "--request", "-", "--origin", RelyingParty.origin, "--json"] + stage.network + extra,
            in: stage.folder,
            environment: stage.environment(),
            input: options
        )
        let line = try await client.line { $0.contains(#""event":"qr""#) }
        let event = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        return (client, try #require(event["text"] as? String))
    }

    @Test("a program is told each state once, in order, with the time")
    func states() async throws {
        try await Stage.set { stage in
            let (client, code) = try await Self.startClient(stage, try await RelyingParty(stage).run("create-options"))
            let phone = try stage.startAuthenticator(code, extra: ["--json"])
            let (asked, answered) = (try await client.ending(), try await phone.ending())
            try #require(asked.status == 0 && answered.status == 0, "\(asked)\n\(answered)")
            let steps = try Self.events(answered)
            #expect(
                steps.map { ($0["state"] ?? $0["notice"] ?? $0["event"]) as? String ?? "" }
                    == [
                        "virtual-radio", "vault-made", "tunnel-open", "advertising", "connected", "asked", "answered",
                        "done",
                    ]
            )
            #expect(steps[5]["operation"] as? String == "create")
            let events = try Self.events(asked)
            let told = events.map { ($0["state"] ?? $0["notice"] ?? $0["event"]) as? String ?? "" }
            #expect(told == ["virtual-radio", "qr", "scan", "phone-found", "connecting", "confirm", "done"])
            #expect(events[4]["relay"] as? String == Stage.host)
            let times = events.compactMap { $0["elapsed_ms"] as? Int }
            #expect(times.count == events.count && times == times.sorted())
            #expect(!asked.output.contains("FIDO:/") && !asked.errors.contains("clientDataJSON"))
        }
    }

    @Test("a program is told the cause, what to do, and no state after them")
    func failure() async throws {
        try await Stage.set { stage in
            let options = try await RelyingParty(stage).run("create-options")
            let (client, _) = try await Self.startClient(stage, options, extra: ["--timeout", "10"])
            let ending = try await client.ending()
            #expect(ending.status == 75)
            let last = try #require(try Self.events(ending).last)
            #expect(last["event"] as? String == "error" && last["code"] as? String == "phone-not-nearby")
            #expect((last["message"] as? String)?.contains("no phone was heard") == true)
            #expect((last["remedy"] as? String)?.contains("Bluetooth on") == true)
            #expect(ending.output.isEmpty)
            try await stage.expectSilence()
        }
    }

    /// Ways for Bluetooth to go away and to come back.
    enum Outage: CaseIterable {
        case switchedOff, serviceGone

        func begin(_ stage: Stage) async throws {
            switch self {
            case .switchedOff: try await stage.air.setPowered("hci0", false)
            case .serviceGone: try await stage.air.vanish()
            }
        }

        func end(_ stage: Stage) async throws {
            switch self {
            case .switchedOff: try await stage.air.setPowered("hci0", true)
            case .serviceGone: try await stage.air.comeBack()
            }
        }

        var code: String { self == .switchedOff ? "adapter-off" : "bluetooth-service-gone" }
    }

    @Test(
        "Bluetooth that goes away while the code is shown is waited for; the code stays good",
        arguments: Outage.allCases
    )
    func outage(_ outage: Outage) async throws {
        try await Stage.set { stage in
            let options = try await RelyingParty(stage).run("create-options")
            let (client, code) = try await Self.startClient(stage, options, extra: ["--adapter", "hci0"])
            for _ in 1...2 {
                let told = client.errors.utf8.count
                try await outage.begin(stage)
                let lost = try await Self.wait(for: "radio-lost", of: client, after: told)
                #expect(lost.contains(#""code":"\#(outage.code)""#), "\(client.errors)")
                try await outage.end(stage)
                try await Self.wait(for: "radio-back", of: client, after: told)
            }
            let phone = try stage.startAuthenticator(code, extra: ["--adapter", "hci1"])
            let (asked, answered) = (try await client.ending(), try await phone.ending())
            #expect(asked.status == 0 && answered.status == 0, "\(asked)\n\(answered)")
            try await stage.expectSilence()
        }
    }

    @Test("Bluetooth that does not come back in time is the cause that is told, not a phone that was not heard")
    func deaf() async throws {
        try await Stage.set { stage in
            let options = try await RelyingParty(stage).run("create-options")
            let (client, _) = try await Self.startClient(
                stage,
                options,
                extra: ["--adapter", "hci0", "--timeout", "20"]
            )
            try await stage.air.setPowered("hci0", false)
            let ending = try await client.ending()
            let last = try #require(try Self.events(ending).last)
            #expect(ending.status == 69 && last["code"] as? String == "adapter-off", "\(ending)")
        }
    }

    /// The first whole line with a notice among what was told after so many bytes.
    @discardableResult
    private static func wait(
        for notice: String,
        of client: RunningProgram,
        after told: Int
    ) async throws -> String {
        var line: Substring?
        try await Waiting.until("the notice \(notice)", within: .seconds(60), evidence: client.errors) {
            let news = String(decoding: client.errors.utf8.dropFirst(told), as: UTF8.self)
            line = news.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first {
                $0.contains(notice)
            }
            return line != nil
        }
        return String(try #require(line))
    }

    @Test("an interrupt while the code is shown stops listening, and says so in one word")
    func interrupted() async throws {
        try await Stage.set { stage in
            let options = try await RelyingParty(stage).run("create-options")
            let (client, _) = try await Self.startClient(stage, options)
            client.send(SIGINT)
            let ending = try await client.ending()
            let last = try #require(try Self.events(ending).last)
            #expect(ending.status == 130 && last["code"] as? String == "interrupted")
            #expect(!ending.errors.contains("radio-lost"), "it is not Bluetooth that went away")
        }
    }

    @Test("on a terminal the present state is redrawn in place, and those before it stand with their times")
    func terminal() async throws {
        try await Stage.set { stage in
            let options = try await RelyingParty(stage).run("create-options")
            let request = stage.folder + "/request.json"
            try Data(options.utf8).write(to: URL(fileURLWithPath: request))
            let words =
                [
                    BuildFolder.program("hybrid-client"), "show-qr", "--request", request, "--origin",
                    RelyingParty.origin, "--print-url",
                ] + stage.network
            // `script` gives it a terminal of 80 columns and writes down what is shown there.
            let shown = stage.folder + "/typescript"
            let command = words.map { "'\($0)'" }.joined(separator: " ")
            let terminal = try RunningProgram(
                "/usr/bin/script",
                ["-qefc", "stty cols 80 rows 24; exec \(command)", shown],
                in: stage.folder,
                environment: stage.environment(["TERM": "xterm"])
            )
            func text() -> String {
                String(decoding: FileManager.default.contents(atPath: shown) ?? Data(), as: UTF8.self)
            }
            let redrawn = "\r\u{1B}[K"
            try await Waiting.until("a state that is redrawn", within: .seconds(60), evidence: text()) {
                text().components(separatedBy: redrawn).count > 2
            }
            let lines = text().replacingOccurrences(of: "\r\n", with: "\n").split(separator: "\n")
            let code = try #require(lines.first { $0.hasPrefix("FIDO:/") })
            let phone = try stage.startAuthenticator(String(code))
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

    /// The lines that are left on a terminal that knows what `\r` and "erase to the end of the line" mean.
    private static func screen(_ text: String) -> [String] {
        text.replacingOccurrences(of: "\r\n", with: "\n").split(separator: "\n").map { line in
            String(line.components(separatedBy: "\r\u{1B}[K").last ?? "")
        }
    }
}
