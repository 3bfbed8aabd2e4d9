// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// The program, killed or failing at its system calls on files of the vault and the local state.
///
/// `Tests/Phone/VaultFormat/watched_calls.py` stops each call before it has an effect and counts across all threads. With
/// `HYBRID_TEST_THOROUGH`, as in `scripts/release-check`, every call is tested, which takes hours; otherwise a fixed
/// sample for each command.
@Suite("hybrid-auth vault, killed at any system call", .serialized)
struct VaultKillTests {
    private static let folder = PackageFolder.path + "/Tests/Phone/VaultFormat"
    private static let hasStrace = FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")

    @Test(
        "kill -9 and failing calls lose and block nothing, and every write is synchronized in order",
        .enabled("needs root with CAP_SYS_PTRACE, HYBRID_TEST_PYTHON, strace and seccomp") {
            hasStrace ? try await Tracer.canWatch.value : false
        }
    )
    func killAnywhere() async throws {
        let ending = try await TestFolder.with { folder in
            try await RunningProgram(
                try Python.path(),
                [
                    Self.folder + "/kill_anywhere.py", BuildFolder.program("hybrid-auth"),
                    "--every", Thoroughness.isFull ? "1" : "150",
                ],
                in: folder.path
            ).ending(within: .seconds(Thoroughness.isFull ? 6 * 3600 : 3600))
        }
        print(ending.output)
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.output.contains(", 0 losses\n"), "\(ending)")
    }

    @Test(
        "kill -9 while a passkey is created: it exists if the site learned of it, and the next one can be created",
        .enabled("needs root with CAP_SYS_PTRACE, HYBRID_TEST_PYTHON and seccomp") { try await Tracer.canWatch.value }
    )
    func killedScan() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let log = environment.folder + "/calls"
            func make(_ number: Int?) async throws -> (CeremonyResult, calls: [Substring]) {
                let kill = number.map { ["--kill", "\($0)"] } ?? []
                let (client, code) = try await environment.startClient(try await environment.site("create-options"))
                let state = environment.folder + "/state"
                let line = try Tracer.watching([environment.vault, state], log: log, kill)
                let phone = try environment.startAuthenticator(code, under: line)
                let ending = try await phone.ending()
                // The tunnel ends for a client that has found the phone. Before that, the client would wait on.
                if !client.errors.contains("phone found") { client.send(SIGINT) }
                let ceremony = CeremonyResult(client: try await client.ending(), authenticator: ending)
                return (ceremony, TestFile.text(log).split(separator: "\n"))
            }
            let plain = try await make(nil)
            #expect(plain.0.client.status == 0 && plain.0.authenticator.status == 0, "\(plain.0)")
            try await environment.site("verify-creation", input: plain.0.client.output)
            let stride = Thoroughness.isFull ? 1 : plain.calls.count / 5
            var made = 0
            for number in Swift.stride(from: plain.calls.count, through: 1, by: -stride) {
                let (ceremony, calls) = try await make(number)
                let comment: Comment = "killed at \(number) of \(plain.calls.count): \(calls.last ?? "") \(ceremony)"
                #expect(ceremony.authenticator.status == 128 + SIGKILL, comment)
                if ceremony.client.status == 0 {
                    try await environment.site("verify-creation", input: ceremony.client.output)
                    made += 1
                }
                // Every confirmed passkey works, and nothing blocks the next ceremony.
                let signedIn = try await environment.runCeremony(
                    try await environment.site("request-options", ["--allow"])
                )
                #expect(signedIn.client.status == 0 && signedIn.authenticator.status == 0, "\(signedIn) \(comment)")
                try await environment.site("verify-request", input: signedIn.client.output)
            }
            print(
                "kills of a ceremony: \(plain.calls.count) calls, each \(stride)th, \(made) made all the same, 0 losses"
            )
        }
    }

    @Test(
        "an independent program that implements the documented format reads what the program writes",
        .enabled(if: Python.interpreter != nil, "needs HYBRID_TEST_PYTHON")
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
                    try Python.path(),
                    [Self.folder + "/vault_format.py", command, path, passphrase],
                    in: program.folder
                ).ending()
                #expect(ending.status == 0 && ending.output.contains("\"passkeys\": []"), "\(ending)")
            }
        }
    }
}
