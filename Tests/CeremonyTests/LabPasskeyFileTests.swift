// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// The file of `hybrid-lab phone --passkeys`: its keys are not encrypted, so no other user may create or change it.
@Suite("The passkey file of the lab", .timeLimit(.minutes(10)))
struct LabPasskeyFileTests {
    @Test("is accessible to its user only, leaves no drafts, and stays intact if it cannot be written")
    func written() async throws {
        try await LabProcess.run { lab in
            let made = try await lab.runCeremony(LabProcess.creation("ada"), "approve")
            #expect(made.phone.status == 0, "\(made)")
            var status = stat()
            #expect(lstat(lab.passkeys, &status) == 0 && status.st_mode == S_IFREG | 0o600)
            #expect(try Self.drafts(lab.folder) == [])
            // So many passkeys that only this file exceeds the limit.
            let file = URL(fileURLWithPath: lab.passkeys)
            let entries = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [Any])
            #expect(entries.count == 1)
            let many = try JSONSerialization.data(withJSONObject: Array(repeating: entries[0], count: 100))
            #expect(many.count > 16384)
            try many.write(to: file, options: [])
            let limited = [
                "/bin/sh", "-c", #"trap "" XFSZ; ulimit -f 16; exec "$0" "$@""#, BuildFolder.program("hybrid-lab"),
            ]
            let full = try await lab.runCeremony(LabProcess.creation("eve"), "approve", phoneProgram: limited)
            #expect(full.client.status != 0, "\(full)")
            #expect(full.phone.status == 74, "\(full)")
            #expect(full.events.last?["code"] == "not-written", "\(full)")
            #expect(full.events.contains { $0["event"] == "request" }, "\(full)")
            #expect(try Data(contentsOf: file) == many)
            #expect(try Self.drafts(lab.folder) == [])
            let again = try await lab.runCeremony(LabProcess.creation("eve"), "approve")
            #expect(again.client.status == 0, "\(again)")
            #expect(try Data(contentsOf: file) != many)
        }
    }

    @Test("is used by one phone at a time, even after it was replaced")
    func oneAtATime() async throws {
        try await LabProcess.run { lab in
            let folder = lab.folder
            // The phone waits for a second code until the pipe is closed. Opened for both directions, the pipe does not block.
            let pipe = folder + "/codes"
            #expect(mkfifo(pipe, 0o600) == 0)
            let phone = try RunningProgram(
                "/bin/sh",
                [
                    "-c", #"exec "$0" phone --ceremonies 2 --passkeys "$1" - <"$2""#,
                    BuildFolder.program("hybrid-lab"), lab.passkeys, pipe,
                ],
                in: folder,
                environment: try lab.variables()
            )
            let codes = try #require(FileHandle(forUpdatingAtPath: pipe))
            let (client, code) = try await lab.startClient(LabProcess.creation("ada"))
            try codes.write(contentsOf: Data((code + "\n").utf8))
            #expect(try await client.ending().status == 0)
            _ = try await phone.line { $0.contains("shutdown") }
            let before = try Data(contentsOf: URL(fileURLWithPath: lab.passkeys))
            let second = try await Self.phone(folder, lab.passkeys)
            #expect(second.status == 75, "\(second)")
            #expect(second.lastLine.contains("\(lab.passkeys) is in use by another phone; "), "\(second)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: lab.passkeys)) == before)
            try codes.close()
            #expect(try await phone.ending().status == 65, "the second code is missing")
            #expect(try await lab.runCeremony(LabProcess.assertion, "approve").client.status == 0)
        }
    }

    @Test("is reported first if it cannot be created")
    func nowhere() async throws {
        let testFolder = try TestFolder()
        defer { try? testFolder.remove() }
        let folder = testFolder.path
        let ending = try await Self.phone(folder, folder + "/nowhere/file")
        #expect(ending.status == 74, "\(ending)")
        #expect(ending.lastLine.hasSuffix("/nowhere/file can't be written: No such file or directory"), "\(ending)")
    }

    @Test("is rejected if another user may have created it or can change it")
    func refused() async throws {
        let testFolder = try TestFolder()
        defer { try? testFolder.remove() }
        let folder = testFolder.path
        func path(_ name: String) -> String { "\(folder)/\(name)" }
        try TestFile.write("[]", to: path("own"))
        #expect(chmod(path("own"), 0o644) == 0)
        #expect(symlink(path("own"), path("link")) == 0)
        #expect(symlink(path("nowhere"), path("dangling")) == 0)
        #expect(mkfifo(path("pipe"), 0o600) == 0)
        #expect(mkdir(path("folder"), 0o700) == 0)
        for (name, mode) in [("group", 0o620), ("world", 0o602)] as [(String, mode_t)] {
            try TestFile.write("[]", to: path(name))
            #expect(chmod(path(name), mode) == 0)
        }
        var cases: [(name: String, says: String)] = [
            ("link", "is a symbolic link; name a file of your own"),
            ("dangling", "is a symbolic link; name a file of your own"),
            ("pipe", "is not a regular file; name a file of your own"),
            ("folder", "is not a regular file; name a file of your own"), ("group", "then run: chmod 600"),
            ("world", "then run: chmod 600"),
        ]
        if geteuid() == 0 {
            try TestFile.write("[]", to: path("other"))
            #expect(chown(path("other"), 65534, 65534) == 0)
            cases.append(("other", "belongs to another user; name a file of your own"))
        }
        for (name, says) in cases {
            let ending = try await Self.phone(folder, path(name))
            #expect(ending.status == 77, "\(name): \(ending)")
            #expect(ending.lastLine.contains(path(name)) && ending.lastLine.contains(says), "\(ending)")
            #expect(ending.errors.split(separator: "\n").count == 1, "\(ending)")
        }
        // A file that others can read is accepted, so the next error is another one.
        let own = try await Self.phone(folder, path("own"))
        #expect(own.status == 64 && own.lastLine.contains("no relay is set"), "\(own)")
        #expect(!FileManager.default.fileExists(atPath: path("nowhere")))
    }

    private static func phone(_ folder: String, _ passkeys: String) async throws -> RunningProgram.Ending {
        try await RunningProgram(
            "hybrid-lab",
            ["phone", "--passkeys", passkeys, "-"],
            in: folder,
            environment: ["PATH": "/usr/bin:/bin"]
        ).ending()
    }

    private static func drafts(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains(".new") || $0.hasPrefix(".") }
    }
}
