// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Scanning from a link", .timeLimit(.minutes(10)))
struct LinkTests {
    private func arguments(_ fixture: ScanFixture, _ answer: String?) async throws -> [String] {
        ["--link", ScanFixture.code, "--pinentry", try await fixture.pinentry(confirming: answer)]
    }

    @Test("Asks for confirmation first and ends if the user declines")
    func declined() async throws {
        try await ScanFixture.with { fixture in
            let ending = try await fixture.scan(arguments(fixture, "ERR 83886194 Not confirmed <Pinentry>"))
            // Opening Bluetooth would fail with 69.
            #expect(ending.status == 77 && ending.lastLine.contains("you declined"), "\(ending)")
            let question = "SETDESC A link asks this device to sign in on another one. The code came from the link, not"
            #expect(fixture.text("pinentry.log").contains(question + " from a camera."))
            #expect(fixture.text("pinentry.log").contains("OLD CODE"))
            #expect(!fixture.text("pinentry.log").contains("FIDO:"))
        }
    }

    @Test("Asks first, too, if the code of the link is on standard input")
    func standardInput() async throws {
        try await ScanFixture.with { fixture in
            let declining = try await fixture.pinentry(confirming: "ERR 83886194 Not confirmed <Pinentry>")
            let arguments = ["scan", "--tunnel-domain", "266", "--pinentry", declining, "-"]
            let input = ScanFixture.code + "\n"
            let asked = try await fixture.run(arguments + ["--from-link"], input: input)
            #expect(asked.status == 77 && asked.lastLine.contains("you declined"), "\(asked)")
            #expect(fixture.text("pinentry.log").contains("SETDESC A link asks this device"))
            let unasked = try await fixture.run(arguments, input: input)
            #expect(unasked.status == 69 && unasked.lastLine.contains(ScanFixture.afterReading), "\(unasked)")
        }
    }

    @Test("Continues after confirmation and shows its failure in a window")
    func accepted() async throws {
        try await ScanFixture.with { fixture in
            let ending = try await fixture.scan(arguments(fixture, "OK"))
            #expect(ending.status == 69 && ending.lastLine.contains(ScanFixture.afterReading), "\(ending)")
            let questions = fixture.text("pinentry.log").split(separator: "\n").filter { $0.hasPrefix("CONFIRM") }
            #expect(questions == ["CONFIRM", "CONFIRM --one-button"])
        }
    }

    @Test("Shows in a window that the link contains no code")
    func noCode() async throws {
        try await ScanFixture.with { fixture in
            let ending = try await fixture.scan([
                "--link", "fido:/hello", "--pinentry", fixture.pinentry(confirming: "OK"),
            ])
            #expect(ending.status == 65, "\(ending)")
            #expect(fixture.text("pinentry.log").contains("SETDESC the code is damaged"))
        }
    }

    @Test("Shows long failures without characters of markup")
    func longFailure() async throws {
        try await ScanFixture.with { fixture in
            let name = "<b>&" + String(repeating: "\u{1D400}", count: 400)
            let ending = try await fixture.run(["scan", "--tunnel-domain", name] + arguments(fixture, "OK"))
            #expect(ending.status == 64 && ending.lastLine.contains("is not a tunnel domain"), "\(ending)")
            let log = fixture.text("pinentry.log")
            #expect(log.contains("\u{1D400}") && log.contains("CONFIRM --one-button"))
            #expect(!log.contains("<") && !log.contains("&"))
        }
    }

    @Test("Removes the code from the process list", arguments: ["--link", "--link="])
    func processList(flag: String) async throws {
        try await ScanFixture.with { fixture in
            let words = flag.hasSuffix("=") ? [flag + ScanFixture.code] : [flag, ScanFixture.code]
            let pinentry = try await fixture.pinentry(confirming: nil)
            let process = try SpawnedProcess(
                [BuildFolder.program("hybrid-auth"), "scan", "--tunnel-domain", "266", "--pinentry", pinentry] + words,
                environment: fixture.environment(),
                errors: fixture.folder + "/errors"
            )
            try await Waiting.until("the question") { fixture.text("pinentry.log").contains("CONFIRM") }
            let list = FileManager.default.contents(atPath: "/proc/\(process.identifier)/cmdline") ?? Data()
            let text = String(decoding: list, as: UTF8.self)
            #expect(text.contains("--tunnel-domain") && !text.contains("FIDO"), "\(text)")
            #expect(!text.contains("9321447142660"))
            process.send(SIGINT)
            #expect(try await process.end() == 130)
        }
    }

    @Test("The text of --url is read although it is overwritten")
    func url() async throws {
        try await ScanFixture.with { fixture in
            let ending = try await fixture.scan(["--url", ScanFixture.code])
            #expect(ending.status == 69 && ending.lastLine.contains(ScanFixture.afterReading), "\(ending)")
        }
    }
}
