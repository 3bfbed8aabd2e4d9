// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The settings of the distribution or the administrator, in an `/etc` that only the program under test sees.
@Suite("Settings of the system", .timeLimit(.minutes(5)))
struct SystemSettingsTests {
    private static let note = "is not sent"

    /// The beginning of a command line with mounts of its own; the shell's first argument is the folder with files of `/etc`.
    private static let isolated =
        (geteuid() == 0 ? ["unshare", "--mount"] : ["unshare", "--user", "--map-root-user", "--mount"])
        + ["sh", "-c", "mount -t overlay overlay -o lowerdir=\"$0\":/etc /etc && exec \"$@\""]

    /// Containers may forbid mounts.
    private static func isPossible() async throws -> Bool {
        try await TestFolder.with { folder in
            try await SpawnedProcess(isolated + [folder.path, "true"]).end() == 0
        }
    }

    private static func scan(_ fixture: ScanFixture, _ arguments: String...) async throws -> RunningProgram.Ending {
        let program = BuildFolder.program("hybrid-auth")
        let command = isolated + [fixture.folder + "/etc", program, "scan"] + arguments + ["-"]
        let ending = try await RunningProgram(
            "/usr/bin/env",
            command,
            in: fixture.folder,
            environment: fixture.environment(["HYBRID_ASK_TO_LINK": "no"]),
            input: ScanFixture.code
        ).ending()
        #expect(ending.lastLine.contains(ScanFixture.afterReading), "\(ending)")
        return ending
    }

    @Test("The system's token is for the system's relay, and never goes to one that the user has chosen")
    func token() async throws {
        guard try await Self.isPossible() else { return }
        try await ScanFixture.with { fixture in
            for folder in ["etc/hybrid", ".config/hybrid"] {
                try FileManager.default.createDirectory(
                    atPath: "\(fixture.folder)/\(folder)",
                    withIntermediateDirectories: true
                )
            }
            let token = try fixture.write("token", Array("secret\n".utf8))
            let settings = "HYBRID_TUNNEL_DOMAIN=266\nHYBRID_TUNNEL_TOKEN_FILE=\(token)\n"
            _ = try fixture.write("etc/hybrid/auth.env", Array(settings.utf8))
            func scan(_ user: String) async throws -> RunningProgram.Ending {
                _ = try fixture.write(".config/hybrid/auth.env", Array(user.utf8))
                return try await Self.scan(fixture)
            }
            for user in ["", "HYBRID_TUNNEL_DOMAIN=266\n", "HYBRID_TUNNEL_DOMAIN=cable.wufkweyy3uaxb.com\n"] {
                let ending = try await scan(user)
                #expect(!ending.errors.contains(Self.note), "\(user): \(ending)")
            }
            let other = try await scan("HYBRID_TUNNEL_DOMAIN=4711\n")
            #expect(other.errors.contains("/etc/hybrid/auth.env") && other.errors.contains(Self.note), "\(other)")
            let own = try await scan("HYBRID_TUNNEL_DOMAIN=4711\nHYBRID_TUNNEL_TOKEN_FILE=\(token)\n")
            #expect(!own.errors.contains(Self.note), "\(own)")
            _ = try fixture.write(".config/hybrid/auth.env", [])
            let given = try await Self.scan(fixture, "--tunnel-domain", "4711")
            #expect(given.errors.contains(Self.note), "\(given)")
        }
    }

    @Test("The program that asks gets the activation token of the program that scans")
    func activation() async throws {
        try await ScanFixture.with { fixture in
            let ask = fixture.folder + "/ask"
            let script = """
                #!/bin/sh
                printf %s "$XDG_ACTIVATION_TOKEN" >"$0.token"
                echo '{"ready":1}'
                exec cat >/dev/null

                """
            try await TestFile.writeProgram(script, to: ask)
            let program = try fixture.start(
                ["scan", "--tunnel-domain", "266", "--ask", ask, "-"],
                input: ScanFixture.code,
                ["XDG_ACTIVATION_TOKEN": "token-7"]
            )
            try await Waiting.until("the token") { fixture.text("ask.token") == "token-7" }
            _ = try await program.ending()
        }
    }
}
