// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A vault that can't be written, or whose files are only half there, in a ceremony and in its own commands: one clear
/// line, the documented exit code, and the vault as it was byte for byte.
@Suite("A vault in a bad way", .keepsEvidence, .serialized)
struct VaultBadInputTests {
    private static let python = ProcessInfo.processInfo.environment["HYBRID_TEST_PYTHON"]
    private static let watcher = PackageFolder.path + "/Tests/VaultFormat/watched_calls.py"
    private static let canWatch = Task {
        guard let python else { return false }
        let check = try? SpawnedProcess([python, watcher, "--check"], environment: ProcessInfo.processInfo.environment)
        return try await check?.end() == 0
    }

    /// What runs a program on files that can't be written, for a reason that stays.
    private static func refusing(_ error: String, below folder: String, _ log: String) throws -> [String] {
        [try #require(python), watcher, "--below", folder, "--fail-from", "1", error, "--log", log, "--"]
    }

    @Test(
        "a passkey for which there is no room is not made, and the site is told so",
        .enabled("needs HYBRID_TEST_PYTHON and seccomp") { try await canWatch.value },
        arguments: ["EROFS", "ENOSPC"]
    )
    func unwritable(_ error: String) async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            try await stage.register(site)
            let before = stage.passkeys()
            let (client, code) = try await stage.startClient(try await site.run("create-options"))
            let line = try Self.refusing(error, below: stage.vault + "/records", stage.folder + "/calls")
            let phone = try await stage.startAuthenticator(code, under: line).ending()
            #expect(phone.status == 74, "\(phone)")
            #expect(phone.lastLine.hasPrefix("hybrid-auth: ") && phone.output.isEmpty, "\(phone)")
            let desktop = try await client.ending()
            #expect(desktop.status == 77 && desktop.output.isEmpty, "\(desktop)")
            #expect(stage.passkeys() == before)
            try await stage.expectSilence()
            // With room again all is as before.
            let signedIn = try await stage.perform(try await site.run("request-options"))
            #expect(signedIn.client.status == 0 && signedIn.authenticator.status == 0, "\(signedIn)")
            try await site.run("verify-request", input: signedIn.client.output)
        }
    }

    @Test("files that are half written, from a later version or another's stop a ceremony, and nothing is changed")
    func halfWritten() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            try await stage.register(site)
            let files = FileManager.default
            let options = try await site.run("request-options")
            let record = try #require(
                stage.snapshot(of: stage.vault).first { $0.key.hasPrefix("records/") && $0.value.count > 1 }
            )
            let id = try #require(files.contents(atPath: stage.vault + "/vault.json"))
            let state = stage.folder + "/state/hybrid"
            let local = try #require(try files.contentsOfDirectory(atPath: state).first { $0.utf8.count == 32 })
            let cases: [(String, (Data) -> Data, Int32, String)] = [
                (stage.vault + "/" + record.key, { $0.dropLast($0.count / 2) }, 77, "damaged"),
                (stage.vault + "/" + record.key, { _ in Data() }, 77, "damaged"),
                (stage.vault + "/vault.json", { $0.dropLast(5) }, 77, "damaged"),
                (stage.vault + "/vault.json", { _ in Data() }, 77, "damaged"),
                (
                    stage.vault + "/vault.json",
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
                let before = stage.snapshot(of: stage.vault)
                let (client, code) = try await stage.startClient(options)
                let phone = try await stage.startAuthenticator(code).ending()
                client.send(SIGINT)
                #expect(phone.status == status && phone.lastLine.contains(words), "\(path): \(phone)")
                #expect(phone.lastLine.hasPrefix("hybrid-auth: "), "\(phone)")
                #expect(try await client.ending().status != 0)
                #expect(stage.snapshot(of: stage.vault) == before, "\(path)")
                try whole.write(to: URL(fileURLWithPath: path))
            }
            if geteuid() == 0 {
                try files.setAttributes([.ownerAccountID: 12345], ofItemAtPath: stage.vault)
                let (client, code) = try await stage.startClient(options)
                let phone = try await stage.startAuthenticator(code).ending()
                client.send(SIGINT)
                #expect(phone.status == 77 && phone.lastLine.contains("another user"), "\(phone)")
                _ = try await client.ending()
                try files.setAttributes([.ownerAccountID: 0], ofItemAtPath: stage.vault)
            }
            // What a write that was cut short leaves under its temporary name means nothing.
            let folder = stage.vault + "/" + record.key.split(separator: "/").dropLast().joined(separator: "/")
            try Data("half".utf8).write(to: URL(fileURLWithPath: folder + "/.hybrid-tmp-0011223344556677"))
            #expect(files.contents(atPath: stage.vault + "/vault.json") == id)
            let healed = try await stage.perform(options)
            #expect(healed.client.status == 0 && healed.authenticator.status == 0, "\(healed)")
            try await stage.expectSilence()
        }
    }

    @Test(
        "the vault's own commands on a read-only vault: nothing is changed, and reading works",
        .enabled("needs HYBRID_TEST_PYTHON and seccomp") { try await canWatch.value }
    )
    func readOnly() async throws {
        try await VaultProgram.run { program in
            let (pin, passphrase) = (VaultProgram.pin, VaultProgram.passphrase)
            #expect(try await program(["init"], typing: [pin, pin]).status == 0)
            #expect(try await program(["add-passphrase"], typing: [pin, passphrase, passphrase]).status == 0)
            let before = program.snapshot(program.vault)
            let line = try Self.refusing("EROFS", below: program.vault, program.folder + "/calls")
            for (command, answers) in [
                (["add-passphrase"], [pin, passphrase, passphrase]), (["recovery-code"], [pin]),
                (["rekey"], [pin, passphrase, passphrase]),
            ] {
                let ending = try await program(command, typing: answers, under: line)
                #expect(ending.status == 74 && ending.lastLine.contains("Read-only file system"), "\(ending)")
                #expect(ending.lastLine.hasPrefix("hybrid-auth: ") && ending.output.isEmpty, "\(ending)")
                #expect(program.snapshot(program.vault) == before, "\(command)")
            }
            // The PIN is the device's, and a backup stands elsewhere.
            let changed = try await program(["change-pin"], typing: [pin, "654321", "654321"], under: line)
            #expect(changed.status == 0, "\(changed)")
            let saved = try await program(["backup", program.folder + "/backup"], typing: ["654321"], under: line)
            #expect(saved.status == 0, "\(saved)")
            #expect(program.snapshot(program.vault) == before)
            #expect(try await program(["rekey"], typing: ["654321", passphrase, passphrase]).status == 0)
        }
    }
}
