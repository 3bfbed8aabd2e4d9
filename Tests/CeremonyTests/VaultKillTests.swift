// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// The real program, killed and refused at its system calls on files of the vault and the local state.
///
/// Which call is the n-th is the same for all threads: `Tests/VaultFormat/watched_calls.py` stops each before it does
/// anything. In full (`HYBRID_TEST_THOROUGH`, in `scripts/release-check`) every call is tried, which takes hours;
/// otherwise some of each command's, always the same.
@Suite("hybrid-auth vault, killed anywhere", .serialized)
struct VaultKillTests {
    private static let python = ProcessInfo.processInfo.environment["HYBRID_TEST_PYTHON"]
    private static let folder = PackageFolder.path + "/Tests/VaultFormat"
    private static let hasStrace = FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")
    /// Whether the kernel lets one process decide about another's system calls.
    private static let canWatch = Task {
        guard let python else { return false }
        let line = [python, folder + "/watched_calls.py", "--check"]
        let check = try? SpawnedProcess(line, environment: ProcessInfo.processInfo.environment)
        return try await check?.end() == 0
    }

    @Test(
        "kill -9 and failing calls lose nothing, block nothing, and every write is synced in order",
        .enabled("needs HYBRID_TEST_PYTHON, strace and seccomp") { hasStrace ? try await canWatch.value : false }
    )
    func killAnywhere() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hybrid-kill-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let ending = try await RunningProgram(
            try #require(Self.python),
            [
                Self.folder + "/kill_anywhere.py", BuildFolder.program("hybrid-auth"),
                "--every", Thoroughness.isFull ? "1" : "150",
            ],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        ).ending(within: .seconds(Thoroughness.isFull ? 6 * 3600 : 3600))
        print(ending.output)
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.output.contains(", 0 losses\n"), "\(ending)")
    }

    @Test(
        "kill -9 while a passkey is made: it is there if the site was told so, and the next one can be made",
        .enabled("needs HYBRID_TEST_PYTHON and seccomp") { try await canWatch.value }
    )
    func killedScan() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            try await stage.register(site)
            let log = stage.folder + "/calls"
            func make(_ number: Int?) async throws -> (Ceremony, calls: [Substring]) {
                let kill = number.map { ["--kill", "\($0)"] } ?? []
                let watched = ["--below", stage.vault, "--below", stage.folder + "/state", "--log", log]
                let (client, code) = try await stage.startClient(try await site.run("create-options"))
                let line = [try #require(Self.python), Self.folder + "/watched_calls.py"] + watched + kill + ["--"]
                let phone = try stage.startAuthenticator(code, under: line)
                let ending = try await phone.ending()
                // A client that has found the phone sees its tunnel end; one whose phone was killed before it was near
                // waits on.
                if !client.errors.contains("phone found") { client.send(SIGINT) }
                let ceremony = Ceremony(client: try await client.ending(), authenticator: ending)
                let text = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
                return (ceremony, text.split(separator: "\n"))
            }
            let plain = try await make(nil)
            #expect(plain.0.client.status == 0 && plain.0.authenticator.status == 0, "\(plain.0)")
            try await site.run("verify-creation", input: plain.0.client.output)
            let stride = Thoroughness.isFull ? 1 : plain.calls.count / 5
            var made = 0
            for number in Swift.stride(from: plain.calls.count, through: 1, by: -stride) {
                let (ceremony, calls) = try await make(number)
                let comment: Comment = "killed at \(number) of \(plain.calls.count): \(calls.last ?? "") \(ceremony)"
                #expect(ceremony.authenticator.status == 128 + SIGKILL, comment)
                if ceremony.client.status == 0 {
                    try await site.run("verify-creation", input: ceremony.client.output)
                    made += 1
                }
                // Whatever was confirmed answers, and nothing is in the way of the next.
                let signedIn = try await stage.perform(try await site.run("request-options", ["--allow"]))
                #expect(signedIn.client.status == 0 && signedIn.authenticator.status == 0, "\(signedIn) \(comment)")
                try await site.run("verify-request", input: signedIn.client.output)
            }
            print(
                "kills of a ceremony: \(plain.calls.count) calls, each \(stride)th, \(made) made all the same, 0 losses"
            )
        }
    }

    @Test(
        "what the program writes is read by another program from its description alone",
        .enabled(if: python != nil, "needs HYBRID_TEST_PYTHON")
    )
    func otherReader() async throws {
        try await VaultProgram.run { program in
            let (pin, passphrase) = (VaultProgram.pin, VaultProgram.passphrase)
            let made = try await program(["init"], typing: [pin, pin])
            let added = try await program(["add-passphrase"], typing: [pin, passphrase, passphrase])
            let saved = try await program(["backup", program.folder + "/backup"], typing: [pin])
            #expect(made.status == 0 && added.status == 0 && saved.status == 0, "\(made) \(added) \(saved)")
            for (command, path) in [("read", program.vault), ("backup", program.folder + "/backup")] {
                let ending = try await RunningProgram(
                    try #require(Self.python),
                    [Self.folder + "/vault_format.py", command, path, passphrase],
                    in: program.folder,
                    environment: ProcessInfo.processInfo.environment
                ).ending()
                #expect(ending.status == 0 && ending.output.contains("\"passkeys\": []"), "\(ending)")
            }
        }
    }
}
