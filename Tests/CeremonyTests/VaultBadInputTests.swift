// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A vault that cannot be written or is damaged, in ceremonies and in its own commands: one clear line, the documented
/// exit status, and an unchanged vault.
@Suite("Unwritable and damaged vaults", .keepsEvidence, .serialized)
struct VaultBadInputTests {
    /// Returns the command line under which every write of the files below a folder fails.
    private static func refusing(_ error: String, below folder: String, _ log: String) throws -> [String] {
        try Tracer.watching([folder], log: log, ["--fail-from", "1", error])
    }

    @Test(
        "a passkey that cannot be stored is not created, and the client learns that",
        .enabled("needs root with CAP_SYS_PTRACE, HYBRID_TEST_PYTHON and seccomp") { try await Tracer.canWatch.value },
        arguments: ["EROFS", "ENOSPC"]
    )
    func unwritable(_ error: String) async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let before = environment.passkeys()
            let (client, code) = try await environment.startClient(try await environment.site("create-options"))
            let line = try Self.refusing(error, below: environment.vault + "/records", environment.folder + "/calls")
            let phone = try await environment.startAuthenticator(code, under: line).ending()
            phone.expect(74, "can't be written")
            let ending = try await client.ending()
            #expect(ending.status == 77 && ending.output.isEmpty, "\(ending)")
            #expect(environment.passkeys() == before)
            try await environment.untilNoAdverts()
            // As soon as the vault can be written, it works.
            let signedIn = try await environment.runCeremony(try await environment.site("request-options"))
            signedIn.expectSuccess()
            try await environment.site("verify-request", input: signedIn.client.output)
        }
    }

    @Test("files that are damaged, of a later version or of another user end a ceremony without a change")
    func damaged() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let files = FileManager.default
            let options = try await environment.site("request-options")
            let record = try #require(
                environment.vaultContents().first { $0.key.hasPrefix("records/") && $0.value.count > 1 }
            )
            let id = try #require(files.contents(atPath: environment.vault + "/vault.json"))
            let state = environment.folder + "/state/hybrid"
            let local = try #require(try files.contentsOfDirectory(atPath: state).first { $0.utf8.count == 32 })
            let cases: [(String, (Data) -> Data, Int32, String)] = [
                (environment.vault + "/" + record.key, { $0.dropLast($0.count / 2) }, 77, "damaged"),
                (environment.vault + "/" + record.key, { _ in Data() }, 77, "damaged"),
                (environment.vault + "/vault.json", { $0.dropLast(5) }, 77, "damaged"),
                (environment.vault + "/vault.json", { _ in Data() }, 77, "damaged"),
                (
                    environment.vault + "/vault.json",
                    { Data(String(decoding: $0, as: UTF8.self).replacing("\"format\":1", with: "\"format\":2").utf8) },
                    65, "later version"
                ),
                (state + "/\(local)/pin", { $0.dropLast(1) }, 77, "damaged"),
                (state + "/\(local)/device", { $0.dropLast(40) }, 77, "damaged"),
                (state + "/\(local)/seen", { _ in Data() }, 77, "damaged"),
                (state + "/\(local)/attempts", { $0.dropLast(1) }, 77, "damaged"),
            ]
            for (path, damage, status, words) in cases {
                let whole = try #require(files.contents(atPath: path))
                try damage(whole).write(to: URL(fileURLWithPath: path))
                let before = environment.vaultContents()
                let (client, code) = try await environment.startClient(options)
                let phone = try await environment.startAuthenticator(code).ending()
                client.send(SIGINT)
                #expect(phone.status == status && phone.lastLine.contains(words), "\(path): \(phone)")
                #expect(phone.lastLine.hasPrefix("hybrid-auth: "), "\(phone)")
                #expect(try await client.ending().status != 0)
                #expect(environment.vaultContents() == before, "\(path)")
                try whole.write(to: URL(fileURLWithPath: path))
            }
            if geteuid() == 0 {
                try files.setAttributes([.ownerAccountID: 12345], ofItemAtPath: environment.vault)
                let (client, code) = try await environment.startClient(options)
                let phone = try await environment.startAuthenticator(code).ending()
                client.send(SIGINT)
                #expect(phone.status == 77 && phone.lastLine.contains("another user"), "\(phone)")
                _ = try await client.ending()
                try files.setAttributes([.ownerAccountID: 0], ofItemAtPath: environment.vault)
            }
            // The temporary file of an interrupted write is ignored.
            let folder = environment.vault + "/" + record.key.split(separator: "/").dropLast().joined(separator: "/")
            try Data("half".utf8).write(to: URL(fileURLWithPath: folder + "/.hybrid-tmp-0011223344556677"))
            #expect(files.contents(atPath: environment.vault + "/vault.json") == id)
            // A file that never opened here is reported and stops nothing.
            try Data("debris".utf8).write(to: URL(fileURLWithPath: folder + "/7-0011223344556677"))
            let repaired = try await environment.runCeremony(options)
            repaired.expectSuccess()
            #expect(repaired.authenticator.errors.contains("7-0011223344556677: a revision that is not authentic"))
            try await environment.untilNoAdverts()
        }
    }

    @Test(
        "commands on a read-only vault change nothing, and reading works",
        .enabled("needs root with CAP_SYS_PTRACE, HYBRID_TEST_PYTHON and seccomp") { try await Tracer.canWatch.value }
    )
    func readOnly() async throws {
        try await VaultProgram.run { program in
            let (pin, passphrase) = (VaultProgram.pin, VaultProgram.passphrase)
            let next = "glider museum ochre tactful banjo"
            try await program.makeVault()
            #expect(try await program(["add-passphrase"], typing: [pin, passphrase, passphrase]).status == 0)
            let before = program.contents()
            let line = try Self.refusing("EROFS", below: program.vault, program.folder + "/calls")
            for (command, answers) in [
                (["add-passphrase"], [pin, passphrase, passphrase]), (["recovery-code"], [pin]),
                (["rekey"], [pin, next, next]),
            ] {
                let ending = try await program(command, typing: answers, under: line)
                ending.expect(74, "Read-only file system")
                #expect(program.contents() == before, "\(command)")
            }
            // The PIN belongs to the device, and the backup is outside of the vault.
            let changed = try await program(["change-pin"], typing: [pin, "654321", "654321"], under: line)
            #expect(changed.status == 0, "\(changed)")
            let saved = try await program(["backup", program.folder + "/backup"], typing: ["654321"], under: line)
            #expect(saved.status == 0, "\(saved)")
            #expect(program.contents() == before)
            #expect(try await program(["rekey"], typing: ["654321", next, next]).status == 0)
        }
    }
}
