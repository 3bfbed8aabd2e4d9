// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HybridLocalPage

@Suite("Opening a browser")
struct BrowserProgramTests {
    @Test("the variable contains commands, with the address in place of %s or at the end")
    func variable() {
        #expect(BrowserProgram(variable: nil).commands == [["xdg-open"]])
        #expect(BrowserProgram(variable: "").commands == [["xdg-open"]])
        #expect(BrowserProgram(variable: " : ").commands == [["xdg-open"]])
        let several = BrowserProgram(variable: "firefox -new-window %s:chromium  --app=%s:w3m").commands
        #expect(several == [["firefox", "-new-window", "%s"], ["chromium", "--app=%s"], ["w3m"]])
        #expect(
            several.map { BrowserProgram.words($0, "A") } == [
                ["firefox", "-new-window", "A"], ["chromium", "--app=A"], ["w3m", "A"],
            ]
        )
    }

    @Test("the address is one argument, and no shell interprets it")
    func noShell() async throws {
        let directory = try TestDirectory()
        let address = "http://127.0.0.1:1/$(touch \(directory.path)/no);`x` \"'"
        let program = try await directory.script(
            "printf '%s' \"$1\" > \"\(directory.path)/said\"; mv \"\(directory.path)/said\" \"\(directory.path)/got\""
        )
        try await BrowserProgram(variable: program).open(address, within: .seconds(60)) {
            FileManager.default.fileExists(atPath: directory.path + "/got")
        }
        #expect(try String(contentsOfFile: directory.path + "/got", encoding: .utf8) == address)
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/no"))
    }

    @Test("the next command follows one that is missing or fails")
    func next() async throws {
        let directory = try TestDirectory()
        let failing = try await directory.script("exit 3")
        let working = try await directory.script("> \"\(directory.path)/opened\"")
        let program = BrowserProgram(variable: "/there/is/no/browser:\(failing):\(working)")
        try await program.open("http://127.0.0.1:1/", within: .seconds(60)) {
            FileManager.default.fileExists(atPath: directory.path + "/opened")
        }
    }

    @Test("causes are distinguished")
    func causes() async throws {
        let directory = try TestDirectory()
        let failing = try await directory.script("exit 3")
        await #expect(throws: BrowserError.failed(program: failing, status: 3)) {
            try await BrowserProgram(variable: failing).open("x", within: .seconds(60)) { false }
        }
        await #expect(throws: BrowserError.notStarted(program: "/no/browser", reason: "No such file or directory")) {
            try await BrowserProgram(variable: "/no/browser").open("x", within: .seconds(60)) { false }
        }
        let idle = try await directory.script("exit 0")
        await #expect(throws: BrowserError.notOpened) {
            try await BrowserProgram(variable: idle).open("x", within: .milliseconds(100)) { false }
        }
        let sentences = Set(
            [
                BrowserError.notOpened, .failed(program: "a", status: 1), .notStarted(program: "a", reason: "b"),
            ].map(\.sentence)
        )
        #expect(sentences.count == 3)
    }

    @Test("a browser that stays in the foreground is not awaited")
    func staying() async throws {
        let directory = try TestDirectory()
        let program = try await directory.script("echo $$ > \"\(directory.path)/pid\"; exec sleep 600")
        try await BrowserProgram(variable: program).open("x", within: .seconds(60)) {
            (try? String(contentsOfFile: directory.path + "/pid", encoding: .utf8))?.hasSuffix("\n") == true
        }
        let text = try String(contentsOfFile: directory.path + "/pid", encoding: .utf8)
        let identifier = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(getsid(identifier) == identifier, "a session of its own")
        kill(identifier, SIGKILL)
    }

    @Test("a browser inherits no descriptors but the standard ones")
    func descriptors() async throws {
        let directory = try TestDirectory()
        // A descriptor without CLOEXEC.
        let ours = open("/dev/zero", O_RDONLY)
        try #require(ours > 2)
        defer { close(ours) }
        let file = directory.path + "/list"
        let program = try await directory.script(
            "ls /proc/self/fd > \"\(file).draft\"; mv \"\(file).draft\" \"\(file)\""
        )
        try await BrowserProgram(variable: program).open("x", within: .seconds(60)) {
            FileManager.default.fileExists(atPath: file)
        }
        // `ls` reads the directory by number 3.
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "0\n1\n2\n3\n")
    }
}

/// A directory of one test, removed with it.
private final class TestDirectory: Sendable {
    let path: String
    private let scripts = Mutex(0)

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/page-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a shell script and returns its path.
    func script(_ text: String) async throws -> String {
        let number = scripts.withLock { number in
            number += 1
            return number
        }
        let file = "\(path)/script-\(number)"
        let draft = file + ".draft"
        try "#!/bin/sh\n\(text)\n".write(toFile: draft, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: draft)
        // A file that is open for writing can't be executed, and a child that another test spawns at that moment keeps
        // the descriptor open a little longer. So another process writes it.
        let copy = try SpawnedProcess(["/bin/cp", draft, file], environment: ProcessInfo.processInfo.environment)
        try #require(try await copy.end() == 0)
        return file
    }
}
