// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Every subcommand of `hybrid-auth vault`.
@Suite("hybrid-auth vault", .serialized)
struct VaultCommandTests {
    private static let (pin, passphrase) = (VaultProgram.pin, VaultProgram.passphrase)

    private static func status(_ program: VaultProgram) async throws -> [String: Any] {
        let ending = try await program(["status", "--json"])
        #expect(ending.status == 0, "\(ending)")
        return try #require(try JSONSerialization.jsonObject(with: Data(ending.output.utf8)) as? [String: Any])
    }

    @Test("init, status, change-pin: a new vault and its PIN")
    func initialize() async throws {
        try await VaultProgram.run { program in
            try await program(["status"]).expect(66, errors: "no vault")
            try await program(["init"], typing: ["123"]).expect(77, errors: "nothing was changed")
            #expect(!FileManager.default.fileExists(atPath: program.vault))
            try await program(["init"], typing: [Self.pin, Self.pin]).expect(0, errors: "can't be opened elsewhere")
            try await program(["init"]).expect(77, errors: "change-pin")
            let before = try await Self.status(program)
            #expect(before["pin"] as? Bool == true && before["opensElsewhere"] as? Bool == false)
            #expect(before["test"] as? Bool == false && before["records"] as? Int == 0)
            try await program(["change-pin"], typing: ["000000"]).expect(77, errors: "cancelled")
            #expect(try await Self.status(program)["wrongPINs"] as? Int == 1)
            try await program(["change-pin"], typing: [Self.pin, "654321", "654321"]).expect(0, errors: "was changed")
            try await program(["change-pin"], typing: [Self.pin, "654321", "000000", "000000"]).expect(
                0,
                errors: "was changed"
            )
            let table = try await program(["status"])
            #expect(table.status == 0 && table.output.contains("PIN here        yes"), "\(table)")
            #expect(!program.log.contains(Self.pin), "the PIN was sent to pinentry")
        }
    }

    @Test("forget: a vault that was deleted on purpose makes room for a new one, and only then")
    func forget() async throws {
        try await VaultProgram.run { program in
            try await program(["init"], typing: [Self.pin, Self.pin]).expect(0, errors: "created")
            try await program(["forget"]).expect(77, errors: "the vault is still at")
            try FileManager.default.removeItem(atPath: program.vault)
            try await program(["status"]).expect(66, errors: "if you deleted it, run hybrid-auth vault forget")
            try await program(["init"], typing: [Self.pin, Self.pin]).expect(66, errors: "is gone")
            try await program(["forget"]).expect(0, errors: "the next scan creates a new one there")
            try await program(["forget"]).expect(66, errors: "there is nothing to forget")
            try await program(["init"], typing: [Self.pin, Self.pin]).expect(0, errors: "created")
        }
    }

    @Test("five wrong PINs lock the vault, across restarts")
    func lockout() async throws {
        try await VaultProgram.run { program in
            try await program(["init"], typing: [Self.pin, Self.pin]).expect(0, errors: "created")
            let wrong = [String](repeating: "000000", count: 3)
            try await program(["change-pin"], typing: wrong).expect(77, errors: "the PIN was wrong")
            try await program(["change-pin"], typing: wrong).expect(77, errors: "too often")
            // Both within the 30 seconds of the lock.
            #expect(try #require(try await Self.status(program)["waitSeconds"] as? Int) > 0)
            try await program(["change-pin"]).expect(77, errors: "seconds")
        }
    }

    @Test("add-passphrase, recovery-code, backup, restore, init elsewhere, rekey, accept")
    func life() async throws {
        try await VaultProgram.run { program in
            try await program(["init"], typing: [Self.pin, Self.pin]).expect(0, errors: "created")
            let file = program.folder + "/backup"
            try await program(["backup", file]).expect(77, errors: "recovery-code")
            #expect(!FileManager.default.fileExists(atPath: file))
            try await program(["add-passphrase"], typing: [Self.pin, "monkey"]).expect(
                77,
                errors: "nothing was changed"
            )
            #expect(program.log.contains("bits"), "no hint about the strength")
            let twice = [Self.passphrase, Self.passphrase]
            try await program(["add-passphrase"], typing: [Self.pin] + twice).expect(0, errors: "was added")
            try await program(["recovery-code"], confirming: false).expect(77, errors: "nothing")
            #expect(try await Self.status(program)["recoveryCodes"] as? Int == 0)
            let logBefore = program.log.utf8.count
            try await program(["recovery-code"]).expect(0, errors: "from now on")
            let shown = String(decoding: Array(program.log.utf8).dropFirst(logBefore), as: UTF8.self)
            let code = String(try #require(shown.firstMatch(of: /[0-9A-Z]{5}(?:-[0-9A-Z]{5}){5}/)).output)
            let backup = try await program(["backup", file])
            backup.expect(0, errors: "wrote")
            let digits = try #require(backup.errors.firstMatch(of: /[0-9]{5}(?: [0-9]{5}){5}/)).output
            #expect(try await Self.status(program)["key"] as? String == String(digits))
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            try await program(["backup", file]).expect(74, errors: "already exists")
            let status = try await Self.status(program)
            #expect(status["passphrases"] as? Int == 1 && status["recoveryCodes"] as? Int == 1)
            #expect(status["lastBackup"] as? Int != nil)
            let id = status["id"] as? String

            try await VaultProgram.run { other in
                try await other(["restore", file], typing: ["wrong", "1234", "1234"]).expect(77, errors: "no slot")
                #expect(!FileManager.default.fileExists(atPath: other.vault))
                let typed = [code.lowercased(), "abcd", "abcd"]
                // Possibly no other device is left, so the prompt does not ask for one.
                try await other(["restore", file], typing: typed).expect(0, errors: "restored")
                #expect(other.log.contains(digits) && other.log.contains("SETOK Restore"), "\(other.log)")
                #expect(!other.log.contains("vault status"), "\(other.log)")
                try await other(["restore", file], typing: ["abcd"]).expect(0, errors: "everything in the backup")
                #expect(try await Self.status(other)["id"] as? String == id)
            }
            try await VaultProgram.run { other in
                try FileManager.default.copyItem(atPath: program.vault, toPath: other.vault)
                try await other(["change-pin"], typing: ["abcd"]).expect(77, errors: "hybrid-auth vault init")
                try await other(["init"], typing: [Self.passphrase, "abcd", "abcd"]).expect(0, errors: "a PIN on this")
                try await other(["accept"], typing: ["abcd"]).expect(0, errors: "nothing to accept")
                let forgotten = [Self.passphrase, "efgh", "efgh"]
                try await other(["change-pin", "--forgotten"], typing: forgotten).expect(0, errors: "was changed")
                try await other(["accept"], typing: ["efgh"]).expect(0, errors: "nothing to accept")
            }
            let next = "glider museum ochre tactful banjo"
            let twiceAgain = [Self.pin, Self.passphrase, Self.passphrase]
            try await program(["rekey"], typing: twiceAgain).expect(77, errors: "choose a new one")
            let first = try #require(try await Self.status(program)["key"] as? String)
            let ended = try await program(["rekey"], typing: [Self.pin, next, next])
            ended.expect(0, errors: "old copies")
            let after = try await Self.status(program)
            let new = try #require(after["key"] as? String)
            #expect(new != first && ended.errors.contains("only if they show the new key as \(new)"), "\(ended)")
            #expect(after["passphrases"] as? Int == 1 && after["recoveryCodes"] as? Int == 1)
            #expect(after["rekeying"] as? Bool == false)
            try await program(["accept"]).expect(0, errors: "nothing to accept")
            try await VaultProgram.run { other in
                try FileManager.default.copyItem(atPath: program.vault, toPath: other.vault)
                try await other(["init"], typing: [Self.passphrase, "abcd", "abcd"]).expect(77, errors: "no slot")
                // Both devices show the same digits; a user who finds others declines.
                let typed = [next, "abcd", "abcd"]
                try await other(["init"], typing: typed, confirming: false).expect(77, errors: "nothing was changed")
                #expect(other.log.contains(new), "the digits were not shown")
                #expect(!FileManager.default.fileExists(atPath: other.folder + "/state/hybrid"))
                try await other(["init"], typing: typed).expect(0, errors: "a PIN on this")
                #expect(try await Self.status(other)["key"] as? String == new)

                // Another rekey reaches the device, and the server withholds the link afterwards.
                let last = "violin harvest copper meadow lantern"
                try await program(["rekey"], typing: [Self.pin, last, last]).expect(0, errors: "old copies")
                let (links, kept) = (other.vault + "/keys", other.folder + "/keys")
                try FileManager.default.moveItem(atPath: links, toPath: kept)
                try FileManager.default.copyItem(atPath: program.vault + "/keys", toPath: links)
                try await other(["accept"], typing: ["abcd"]).expect(77, errors: "another device")
                try FileManager.default.removeItem(atPath: links)
                try FileManager.default.moveItem(atPath: kept, toPath: links)
                try await other(["accept"], typing: ["abcd"]).expect(77, errors: "another device")
                let replaced = try await Self.status(other)
                #expect(replaced["key"] is NSNull && replaced["rekeyedElsewhere"] as? Bool == true, "\(replaced)")
                let table = try await other(["status"])
                #expect(table.output.contains("replaced by another device"), "\(table)")
            }
        }
    }

    @Test("a file sync that adds many files causes 20 warnings and a number")
    func warnings() async throws {
        try await VaultProgram.run { program in
            try await program(["init"], typing: [Self.pin, Self.pin]).expect(0, errors: "created")
            for number in 1...30 { try TestFile.write("", to: "\(program.vault)/records/file-\(number)") }
            let ending = try await program(["change-pin"], typing: [Self.pin, "654321", "654321"])
            ending.expect(0, errors: "ignored: 10 more files")
            #expect(ending.errors.ranges(of: "ignored: records/").count == 20, "\(ending)")
        }
    }

    @Test("a vault of a later version, another owner or another mode, and a full disk")
    func invalid() async throws {
        try await VaultProgram.run { program in
            try await program(["init"], typing: [Self.pin, Self.pin]).expect(0, errors: "created")
            let files = FileManager.default
            let before = program.contents()

            try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.vault)
            for command in ["status", "change-pin", "accept"] {
                try await program([command]).expect(77, errors: "chmod 700")
            }
            try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.vault)

            if geteuid() == 0 {
                try files.setAttributes([.ownerAccountID: 12345], ofItemAtPath: program.vault)
                try await program(["status"]).expect(77, errors: "another user")
                try files.setAttributes([.ownerAccountID: 0], ofItemAtPath: program.vault)
            }

            let identity = program.vault + "/vault.json"
            let json = try #require(files.contents(atPath: identity))
            let newer = String(decoding: json, as: UTF8.self).replacing("\"format\":1", with: "\"format\":2")
            try TestFile.write(newer, to: identity)
            try await program(["change-pin"]).expect(65, errors: "later version")
            try json.dropLast(5).write(to: URL(fileURLWithPath: identity))
            try await program(["change-pin"]).expect(77, errors: "damaged")
            try files.removeItem(atPath: identity)
            try await program(["init"], typing: [Self.pin, Self.pin]).expect(66, errors: "lacks vault.json")
            try json.write(to: URL(fileURLWithPath: identity))

            let ending = try await program(["add-passphrase"], under: Tracer.fullDisk)
            #expect(ending.status == 74, "\(ending)")
            #expect(program.contents() == before)

            let foreign = program.folder + "/not-a-backup"
            try TestFile.write("hello", to: foreign)
            try await program(["restore", foreign]).expect(65, errors: "its beginning")
            try await program(["restore", foreign + "2"]).expect(66, errors: "missing")
            #expect(program.contents() == before)
            try await program(["accept"]).expect(0, errors: "nothing to accept")
        }
    }
}
