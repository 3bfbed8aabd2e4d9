// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Each subcommand of `hybrid-auth vault` on the real program.
@Suite("hybrid-auth vault", .serialized)
struct VaultCommandTests {
    private static let (pin, passphrase) = (VaultProgram.pin, VaultProgram.passphrase)

    private static func expect(
        _ ending: RunningProgram.Ending,
        _ status: Int32,
        _ words: String,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(ending.status == status, "\(ending)", sourceLocation: location)
        #expect(ending.lastLine.hasPrefix("hybrid-auth: "), "\(ending)", sourceLocation: location)
        #expect(ending.errors.contains(words), "\(ending)", sourceLocation: location)
        #expect(ending.output.isEmpty, "\(ending)", sourceLocation: location)
    }

    private static func status(_ program: VaultProgram) async throws -> [String: Any] {
        let ending = try await program(["status", "--json"])
        #expect(ending.status == 0, "\(ending)")
        return try #require(try JSONSerialization.jsonObject(with: Data(ending.output.utf8)) as? [String: Any])
    }

    @Test("init, status, change-pin: a vault from nothing, and its PIN")
    func initialise() async throws {
        try await VaultProgram.run { program in
            Self.expect(try await program(["status"]), 66, "no vault")
            Self.expect(try await program(["init"], typing: ["123"]), 77, "nothing was changed")
            #expect(!FileManager.default.fileExists(atPath: program.vault))
            Self.expect(try await program(["init"], typing: [Self.pin, Self.pin]), 0, "can't be opened elsewhere")
            Self.expect(try await program(["init"], typing: [Self.pin]), 77, "change-pin")
            let before = try await Self.status(program)
            #expect(before["pin"] as? Bool == true && before["opensElsewhere"] as? Bool == false)
            #expect(before["test"] as? Bool == false && before["records"] as? Int == 0)
            Self.expect(try await program(["change-pin"], typing: ["000000"]), 77, "cancelled")
            #expect(try await Self.status(program)["wrongPINs"] as? Int == 1)
            Self.expect(try await program(["change-pin"], typing: [Self.pin, "654321", "654321"]), 0, "was changed")
            Self.expect(
                try await program(["change-pin"], typing: [Self.pin, "654321", "000000", "000000"]),
                0,
                "was changed"
            )
            let table = try await program(["status"])
            #expect(table.status == 0 && table.output.contains("PIN here        yes"), "\(table)")
            #expect(!program.log.contains(Self.pin), "a PIN was told to pinentry")
        }
    }

    @Test("five wrong PINs lock, over restarts")
    func lockout() async throws {
        try await VaultProgram.run { program in
            Self.expect(try await program(["init"], typing: [Self.pin, Self.pin]), 0, "made")
            let wrong = [String](repeating: "000000", count: 3)
            Self.expect(try await program(["change-pin"], typing: wrong), 77, "the PIN was wrong")
            Self.expect(try await program(["change-pin"], typing: wrong), 77, "too often")
            // Both within the thirty seconds for which the fifth locks.
            #expect(try #require(try await Self.status(program)["waitSeconds"] as? Int) > 0)
            Self.expect(try await program(["change-pin"], typing: [Self.pin]), 77, "seconds")
        }
    }

    @Test("add-passphrase, recovery-code, backup, restore, init elsewhere, rekey, accept")
    func life() async throws {
        try await VaultProgram.run { program in
            Self.expect(try await program(["init"], typing: [Self.pin, Self.pin]), 0, "made")
            let file = program.folder + "/backup"
            Self.expect(try await program(["backup", file], typing: [Self.pin]), 77, "recovery-code")
            #expect(!FileManager.default.fileExists(atPath: file))
            Self.expect(try await program(["add-passphrase"], typing: [Self.pin, "monkey"]), 77, "nothing was changed")
            #expect(program.log.contains("bits"), "no hint at the strength")
            let twice = [Self.passphrase, Self.passphrase]
            Self.expect(try await program(["add-passphrase"], typing: [Self.pin] + twice), 0, "was added")
            Self.expect(try await program(["recovery-code"], typing: [Self.pin], confirming: false), 77, "nothing")
            #expect(try await Self.status(program)["recoveryCodes"] as? Int == 0)
            let logBefore = program.log.utf8.count
            Self.expect(try await program(["recovery-code"], typing: [Self.pin]), 0, "from now on")
            let shown = String(decoding: Array(program.log.utf8).dropFirst(logBefore), as: UTF8.self)
            let code = String(try #require(shown.firstMatch(of: /[0-9A-Z]{5}(?:-[0-9A-Z]{5}){5}/)).output)
            Self.expect(try await program(["backup", file], typing: [Self.pin]), 0, "wrote")
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            Self.expect(try await program(["backup", file], typing: [Self.pin]), 74, "exists already")
            let status = try await Self.status(program)
            #expect(status["passphrases"] as? Int == 1 && status["recoveryCodes"] as? Int == 1)
            #expect(status["lastBackup"] as? Int != nil)
            let id = status["id"] as? String

            try await VaultProgram.run { other in
                Self.expect(try await other(["restore", file], typing: ["wrong", "1234", "1234"]), 77, "no slot")
                #expect(!FileManager.default.fileExists(atPath: other.vault))
                let typed = [code.lowercased(), "abcd", "abcd"]
                Self.expect(try await other(["restore", file], typing: typed), 0, "restored")
                Self.expect(try await other(["restore", file], typing: ["abcd"]), 0, "all of the backup")
                #expect(try await Self.status(other)["id"] as? String == id)
            }
            try await VaultProgram.run { other in
                try FileManager.default.copyItem(atPath: program.vault, toPath: other.vault)
                Self.expect(try await other(["change-pin"], typing: ["abcd"]), 77, "hybrid-auth vault init")
                Self.expect(try await other(["init"], typing: [Self.passphrase, "abcd", "abcd"]), 0, "a PIN on this")
                Self.expect(try await other(["accept"], typing: ["abcd"]), 0, "nothing to accept")
                let forgotten = [Self.passphrase, "efgh", "efgh"]
                Self.expect(try await other(["change-pin", "--forgotten"], typing: forgotten), 0, "was changed")
                Self.expect(try await other(["accept"], typing: ["efgh"]), 0, "nothing to accept")
            }
            let next = "glider museum ochre tactful banjo"
            Self.expect(try await program(["rekey"], typing: [Self.pin, next, next]), 0, "old copies")
            let after = try await Self.status(program)
            #expect(after["passphrases"] as? Int == 1 && after["recoveryCodes"] as? Int == 1)
            #expect(after["rekeying"] as? Bool == false)
            Self.expect(try await program(["accept"], typing: [Self.pin]), 0, "nothing to accept")
            try await VaultProgram.run { other in
                try FileManager.default.copyItem(atPath: program.vault, toPath: other.vault)
                Self.expect(try await other(["init"], typing: [Self.passphrase, "abcd", "abcd"]), 77, "no slot")
                Self.expect(try await other(["init"], typing: [next, "abcd", "abcd"]), 0, "a PIN on this")
            }
        }
    }

    @Test("a vault of another time, place, owner or mode; a disk that is full; standard output that is")
    func badInput() async throws {
        try await VaultProgram.run { program in
            Self.expect(try await program(["init"], typing: [Self.pin, Self.pin]), 0, "made")
            let files = FileManager.default
            let before = program.snapshot(program.vault)

            try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.vault)
            for command in ["status", "change-pin", "accept"] {
                Self.expect(try await program([command], typing: [Self.pin]), 77, "chmod 700")
            }
            try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.vault)

            if geteuid() == 0 {
                try files.setAttributes([.ownerAccountID: 12345], ofItemAtPath: program.vault)
                Self.expect(try await program(["status"]), 77, "another user")
                try files.setAttributes([.ownerAccountID: 0], ofItemAtPath: program.vault)
            }

            let identity = program.vault + "/vault.json"
            let json = try #require(files.contents(atPath: identity))
            let newer = String(decoding: json, as: UTF8.self).replacing("\"format\":1", with: "\"format\":2")
            try Data(newer.utf8).write(to: URL(fileURLWithPath: identity))
            Self.expect(try await program(["change-pin"], typing: [Self.pin]), 65, "later version")
            try json.dropLast(5).write(to: URL(fileURLWithPath: identity))
            Self.expect(try await program(["change-pin"], typing: [Self.pin]), 77, "damaged")
            try files.removeItem(atPath: identity)
            Self.expect(try await program(["init"], typing: [Self.pin, Self.pin]), 66, "lacks vault.json")
            try json.write(to: URL(fileURLWithPath: identity))

            // No file can be made longer than nothing: what a full disk does to every write.
            let full = ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]
            let ending = try await program(["add-passphrase"], typing: [Self.pin], under: full)
            #expect(ending.status == 74, "\(ending)")
            #expect(program.snapshot(program.vault) == before)

            let foreign = program.folder + "/not-a-backup"
            try Data("hello".utf8).write(to: URL(fileURLWithPath: foreign))
            Self.expect(try await program(["restore", foreign], typing: [Self.pin]), 65, "its beginning")
            Self.expect(try await program(["restore", foreign + "2"], typing: [Self.pin]), 66, "missing")
            #expect(program.snapshot(program.vault) == before)
            Self.expect(try await program(["accept"], typing: [Self.pin]), 0, "nothing to accept")
        }
    }
}
