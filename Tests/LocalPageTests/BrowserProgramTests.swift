// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HybridLocalPage

@Suite("Opening a browser")
struct BrowserProgramTests {
    @Test("the variable names commands, with the address in the place of %s or at the end")
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

    @Test("the address is one word, and no shell looks at it")
    func noShell() async throws {
        let folder = try Folder()
        let address = "http://127.0.0.1:1/$(touch \(folder.path)/no);`x` \"'"
        let program = try await folder.script(
            "printf '%s' \"$1\" > \"\(folder.path)/said\"; mv \"\(folder.path)/said\" \"\(folder.path)/got\""
        )
        try await BrowserProgram(variable: program).open(address, within: .seconds(60)) {
            FileManager.default.fileExists(atPath: folder.path + "/got")
        }
        #expect(try String(contentsOfFile: folder.path + "/got", encoding: .utf8) == address)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/no"))
    }

    @Test("what is not there or fails is followed by the next")
    func next() async throws {
        let folder = try Folder()
        let failing = try await folder.script("exit 3")
        let working = try await folder.script("> \"\(folder.path)/opened\"")
        let program = BrowserProgram(variable: "/there/is/no/browser:\(failing):\(working)")
        try await program.open("http://127.0.0.1:1/", within: .seconds(60)) {
            FileManager.default.fileExists(atPath: folder.path + "/opened")
        }
    }

    @Test("causes are told apart")
    func causes() async throws {
        let folder = try Folder()
        let failing = try await folder.script("exit 3")
        await #expect(throws: BrowserError.failed(program: failing, status: 3)) {
            try await BrowserProgram(variable: failing).open("x", within: .seconds(60)) { false }
        }
        await #expect(throws: BrowserError.notStarted(program: "/no/browser", reason: "No such file or directory")) {
            try await BrowserProgram(variable: "/no/browser").open("x", within: .seconds(60)) { false }
        }
        let idle = try await folder.script("exit 0")
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

    @Test("a browser that stays in front is not waited for")
    func staying() async throws {
        let folder = try Folder()
        let program = try await folder.script("echo $$ > \"\(folder.path)/pid\"; exec sleep 600")
        try await BrowserProgram(variable: program).open("x", within: .seconds(60)) {
            (try? String(contentsOfFile: folder.path + "/pid", encoding: .utf8))?.hasSuffix("\n") == true
        }
        let text = try String(contentsOfFile: folder.path + "/pid", encoding: .utf8)
        let identifier = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(getsid(identifier) == identifier, "a session of its own")
        kill(identifier, SIGKILL)
    }

    @Test("a browser has its three descriptors and none of ours")
    func descriptors() async throws {
        let folder = try Folder()
        // One that a child inherits if nobody closes it there.
        let ours = open("/dev/zero", O_RDONLY)
        try #require(ours > 2)
        defer { close(ours) }
        let file = folder.path + "/list"
        let program = try await folder.script("ls /proc/self/fd > \"\(file).draft\"; mv \"\(file).draft\" \"\(file)\"")
        try await BrowserProgram(variable: program).open("x", within: .seconds(60)) {
            FileManager.default.fileExists(atPath: file)
        }
        // `ls` reads the folder by number 3.
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "0\n1\n2\n3\n")
    }
}

/// A folder of one test, which goes with it.
private final class Folder: Sendable {
    let path: String
    private let scripts = Mutex(0)

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/page-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a program of the shell and returns its path.
    func script(_ text: String) async throws -> String {
        let number = scripts.withLock { number in
            number += 1
            return number
        }
        let file = "\(path)/script-\(number)"
        let draft = file + ".draft"
        try "#!/bin/sh\n\(text)\n".write(toFile: draft, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: draft)
        // A program that this process has open for writing can't be started, and a child that another test starts at
        // that moment has it open, too, for a little longer. So somebody else writes it.
        let copy = try SpawnedProcess(["/bin/cp", draft, file], environment: ProcessInfo.processInfo.environment)
        try #require(try await copy.end() == 0)
        return file
    }
}
