// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("A scan that a link started", .timeLimit(.minutes(10)))
struct LinkTests {
    private func arguments(_ desk: Desk, _ answer: String?) async throws -> [String] {
        ["--link", Desk.code, "--pinentry", try await desk.pinentry(confirming: answer)]
    }

    @Test("asks before it uses anything, and a no is the end of it")
    func declined() async throws {
        try await Desk.with { desk in
            let ending = try await desk.scan(arguments(desk, "ERR 83886194 Not confirmed <Pinentry>"))
            // Without Bluetooth: had it been looked for, this would be 69.
            #expect(ending.status == 77 && ending.lastLine.contains("you declined"), "\(ending)")
            #expect(desk.text("pinentry.log").contains("SETDESC A link asks this device to sign in"))
            #expect(desk.text("pinentry.log").contains("OLD CODE"))
            #expect(!desk.text("pinentry.log").contains("FIDO:"))
        }
    }

    @Test("goes on after a yes, and shows why it failed, because nobody sees standard error")
    func accepted() async throws {
        try await Desk.with { desk in
            let ending = try await desk.scan(arguments(desk, "OK"))
            #expect(ending.status == 69 && ending.lastLine.contains(Desk.afterReading), "\(ending)")
            let questions = desk.text("pinentry.log").split(separator: "\n").filter { $0.hasPrefix("CONFIRM") }
            #expect(questions == ["CONFIRM", "CONFIRM --one-button"])
        }
    }

    @Test("that is no code shows that, too")
    func noCode() async throws {
        try await Desk.with { desk in
            let ending = try await desk.scan(["--link", "fido:/hello", "--pinentry", desk.pinentry(confirming: "OK")])
            #expect(ending.status == 65, "\(ending)")
            #expect(desk.text("pinentry.log").contains("SETDESC the code is damaged"))
        }
    }

    @Test("shows a failure of any length and letters, without what looks like mark-up")
    func longFailure() async throws {
        try await Desk.with { desk in
            let name = "<b>&" + String(repeating: "\u{1D400}", count: 400)
            let ending = try await desk.run(["scan", "--tunnel-domain", name] + arguments(desk, "OK"))
            #expect(ending.status == 64 && ending.lastLine.contains("is no tunnel domain"), "\(ending)")
            let log = desk.text("pinentry.log")
            #expect(log.contains("\u{1D400}") && log.contains("CONFIRM --one-button"))
            #expect(!log.contains("<") && !log.contains("&"))
        }
    }

    @Test("does not leave the code in the process list", arguments: ["--link", "--link="])
    func processList(flag: String) async throws {
        try await Desk.with { desk in
            let words = flag.hasSuffix("=") ? [flag + Desk.code] : [flag, Desk.code]
            let pinentry = try await desk.pinentry(confirming: nil)
            let process = try SpawnedProcess(
                [BuildFolder.program("hybrid-auth"), "scan", "--tunnel-domain", "266", "--pinentry", pinentry] + words,
                environment: desk.environment(),
                errors: desk.folder + "/errors"
            )
            try await Waiting.until("the question") { desk.text("pinentry.log").contains("CONFIRM") }
            let list = FileManager.default.contents(atPath: "/proc/\(process.identifier)/cmdline") ?? Data()
            let text = String(decoding: list, as: UTF8.self)
            #expect(text.contains("--tunnel-domain") && !text.contains("FIDO"), "\(text)")
            #expect(!text.contains("9321447142660"))
            process.send(SIGINT)
            #expect(try await process.end() == 130)
        }
    }

    @Test("or a script, by --url, is still read after its text was overwritten")
    func url() async throws {
        try await Desk.with { desk in
            let ending = try await desk.scan(["--url", Desk.code])
            #expect(ending.status == 69 && ending.lastLine.contains(Desk.afterReading), "\(ending)")
        }
    }
}
