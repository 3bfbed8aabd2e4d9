// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// `hybrid-lab phone --passkeys`: keys in clear, so at least nobody else puts the file there, or changes it.
@Suite("The lab's file of passkeys", .timeLimit(.minutes(10)))
struct LabPasskeyFileTests {
    @Test("is made for its user alone, with nothing beside it, and stays whole if it can't be written")
    func written() async throws {
        try await Table.set { table in
            let made = try await table.ceremony(Table.creation("ada"), "approve")
            #expect(made.phone.status == 0, "\(made)")
            var status = stat()
            #expect(lstat(table.passkeys, &status) == 0 && status.st_mode == S_IFREG | 0o600)
            #expect(try Self.drafts(table.folder) == [])
            // So many that they pass a limit below which all other output stays.
            let file = URL(fileURLWithPath: table.passkeys)
            let entries = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [Any])
            #expect(entries.count == 1)
            let many = try JSONSerialization.data(withJSONObject: Array(repeating: entries[0], count: 100))
            #expect(many.count > 16384)
            try many.write(to: file, options: [])
            let limited = [
                "/bin/sh", "-c", #"trap "" XFSZ; ulimit -f 16; exec "$0" "$@""#, BuildFolder.program("hybrid-lab"),
            ]
            let full = try await table.ceremony(Table.creation("eve"), "approve", phoneProgram: limited)
            #expect(full.desktop.status != 0, "\(full)")
            #expect(full.phone.status == 74, "\(full)")
            #expect(full.events.last?["code"] == .text("not-written"), "\(full)")
            #expect(full.events.contains { $0["event"] == .text("request") }, "\(full)")
            #expect(try Data(contentsOf: file) == many)
            #expect(try Self.drafts(table.folder) == [])
            let again = try await table.ceremony(Table.creation("eve"), "approve")
            #expect(again.desktop.status == 0, "\(again)")
            #expect(try Data(contentsOf: file) != many)
        }
    }

    @Test("is one phone's at a time, also when it has been replaced")
    func oneAtATime() async throws {
        try await Table.set { table in
            let surroundings = try table.ready.value("environment")
            var environment = ProcessInfo.processInfo.environment
            for name in ["DBUS_SYSTEM_BUS_ADDRESS", "HYBRID_LAB_CACERT", "HYBRID_LAB_CONNECT_TO"] {
                environment[name] = try surroundings.text(name)
            }
            environment["HYBRID_LAB_TUNNEL_DOMAIN"] = try surroundings.text("HYBRID_LAB_TUNNEL_DOMAIN")
            let folder = table.folder
            // It waits for a second code, which never comes, until its pipe is closed. Opened for both, it waits for nobody.
            let pipe = folder + "/codes"
            #expect(mkfifo(pipe, 0o600) == 0)
            let phone = try RunningProgram(
                "/bin/sh",
                [
                    "-c", #"exec "$0" phone --ceremonies 2 --passkeys "$1" - <"$2""#,
                    BuildFolder.program("hybrid-lab"), table.passkeys, pipe,
                ],
                in: folder,
                environment: environment
            )
            let codes = try #require(FileHandle(forUpdatingAtPath: pipe))
            let desktop = try RunningProgram(
                "hybrid-client",
                [
                    "show-qr", "--request", "-", "--origin", "https://shop.example", "--print-url", "--cacert",
                    surroundings.text("HYBRID_LAB_CACERT"), "--connect-to", surroundings.text("HYBRID_LAB_CONNECT_TO"),
                ],
                in: folder,
                environment: environment,
                input: Table.creation("ada")
            )
            try codes.write(contentsOf: Data((try await desktop.line { $0.hasPrefix("FIDO:/") } + "\n").utf8))
            #expect(try await desktop.ending().status == 0)
            _ = try await phone.line { $0.contains("goodbye") }
            let before = try Data(contentsOf: URL(fileURLWithPath: table.passkeys))
            let second = try await Self.phone(folder, table.passkeys)
            #expect(second.status == 75, "\(second)")
            #expect(second.lastLine.contains("\(table.passkeys) is in use by another phone; "), "\(second)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: table.passkeys)) == before)
            try codes.close()
            #expect(try await phone.ending().status == 65, "it was promised a second code")
            #expect(try await table.ceremony(Table.assertion, "approve").desktop.status == 0)
        }
    }

    @Test("that can't be made is told before anything else")
    func nowhere() async throws {
        let folder = try Table.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let ending = try await Self.phone(folder, folder + "/nowhere/file")
        #expect(ending.status == 74, "\(ending)")
        #expect(ending.lastLine.hasSuffix("/nowhere/file can't be written: No such file or directory"), "\(ending)")
    }

    @Test("is not taken where somebody else may have put it or can change it")
    func refused() async throws {
        let folder = try Table.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func path(_ name: String) -> String { "\(folder)/\(name)" }
        try Data("[]".utf8).write(to: URL(fileURLWithPath: path("own")))
        #expect(chmod(path("own"), 0o644) == 0)
        #expect(symlink(path("own"), path("link")) == 0)
        #expect(symlink(path("nowhere"), path("dangling")) == 0)
        #expect(mkfifo(path("pipe"), 0o600) == 0)
        #expect(mkdir(path("folder"), 0o700) == 0)
        for (name, mode) in [("group", 0o620), ("world", 0o602)] as [(String, mode_t)] {
            try Data("[]".utf8).write(to: URL(fileURLWithPath: path(name)))
            #expect(chmod(path(name), mode) == 0)
        }
        var cases: [(name: String, says: String)] = [
            ("link", "is a symbolic link; name a file of your own"),
            ("dangling", "is a symbolic link; name a file of your own"),
            ("pipe", "is not a regular file; name a file of your own"),
            ("folder", "is not a regular file; name a file of your own"), ("group", "chmod 600 it"),
            ("world", "chmod 600 it"),
        ]
        if geteuid() == 0 {
            try Data("[]".utf8).write(to: URL(fileURLWithPath: path("other")))
            #expect(chown(path("other"), 65534, 65534) == 0)
            cases.append(("other", "belongs to another user; name a file of your own"))
        }
        for (name, says) in cases {
            let ending = try await Self.phone(folder, path(name))
            #expect(ending.status == 77, "\(name): \(ending)")
            #expect(ending.lastLine.contains(path(name)) && ending.lastLine.hasSuffix(says), "\(ending)")
            #expect(ending.errors.split(separator: "\n").count == 1, "\(ending)")
        }
        // Who may be read by others is taken: the keys are in clear anyway, and what follows is another complaint.
        let own = try await Self.phone(folder, path("own"))
        #expect(own.status == 64 && own.lastLine.contains("no relay is named"), "\(own)")
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
