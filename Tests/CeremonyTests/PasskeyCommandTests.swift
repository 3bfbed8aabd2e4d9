// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `hybrid-auth passkeys`, `export` and `import`.
@Suite("hybrid-auth passkeys, export, import", .serialized)
struct PasskeyCommandTests {
    private static let pin = VaultProgram.pin
    private static let folder = PackageFolder.path + "/Tests/Phone/CredentialExchange"
    private static let foreign = folder + "/other-manager.json"

    private struct Listed: Decodable {
        let id: String
        let rpId: String?
        let credentialId: String?
        let userHandle: String?
        let userName: String?
        let userDisplayName: String?
        let created: Int?
        let usable: Bool
        let discoverable: Bool?
        let prf: Bool?
        let lastUsed: Int?
    }

    private struct List: Decodable {
        let passkeys: [Listed]
    }

    /// Runs `body` with a vault that has the three passkeys of another manager.
    private static func withPasskeys(_ body: @Sendable (VaultProgram) async throws -> Void) async throws {
        try await VaultProgram.run { program in
            try await program.makeVault()
            try await program(["import", foreign], of: nil, typing: [pin]).expect(0, errors: "added 3 passkeys")
            try await body(program)
        }
    }

    private static func list(_ program: VaultProgram) async throws -> [Listed] {
        let ending = try await program(["list", "--json"], of: "passkeys", typing: [pin])
        #expect(ending.status == 0, "\(ending)")
        return try JSONDecoder().decode(List.self, from: Data(ending.output.utf8)).passkeys
    }

    @Test("list and show print a table or JSON, and need the PIN")
    func listing() async throws {
        try await VaultProgram.run { program in
            try await program(["list"], of: "passkeys").expect(66, errors: "no vault")
            try await program.makeVault()
            try await program(["list"], of: "passkeys").expect(0, errors: "has no passkeys")
            let empty = try await program(["list", "--json"], of: "passkeys")
            #expect(empty.output == "{\"passkeys\":[]}\n")
            let none = program.folder + "/none.json"
            try await program(["export", none], of: nil).expect(0, errors: "nothing was written")
            #expect(!FileManager.default.fileExists(atPath: none))
        }
        try await Self.withPasskeys { program in
            let table = try await program(["list"], of: "passkeys")
            let lines = table.output.split(separator: "\n")
            try #require(lines.count == 4, "\(table)")
            #expect(lines[0].hasPrefix("ID        CREATED           LAST USED  SITE"), "\(table)")
            #expect(lines[1].hasSuffix(#"never      login.example.net  "eve@example.net""#), "\(table)")
            let listed = try await Self.list(program)
            try #require(listed.map(\.rpId) == ["login.example.net", "shop.example.org", "example.com"])
            #expect(listed[2].created == 1_700_000_000 && listed[2].prf == true && listed[2].usable)
            #expect(listed[2].userDisplayName == "Ada \u{2013} L\u{F6}ve \u{1F511}")
            #expect(listed[1].userHandle == "AP8" && listed[1].userDisplayName == "")
            #expect(listed.allSatisfy { $0.id.count == 32 && $0.lastUsed == nil && $0.discoverable == true })

            for which in ["example.com", String(listed[2].id.prefix(4)), listed[2].id.uppercased()] {
                let shown = try await program(["show", which], of: "passkeys")
                #expect(shown.status == 0 && shown.output.contains("ID            \(listed[2].id)\n"), "\(shown)")
                #expect(shown.output.contains("no uses yet"), "\(shown)")
            }
            let json = try await program(["show", "shop.example.org", "--json"], of: "passkeys")
            let shown = try JSONDecoder().decode(Listed.self, from: Data(json.output.utf8))
            #expect(shown.id == listed[1].id && json.output.contains(#""history":[]"#))
            try await program(["show", "unknown.example"], of: "passkeys").expect(77, errors: "no such")
            try await program(["show", "abc"], of: "passkeys").expect(77, errors: "no such")
            try await program(["list"], of: "passkeys", typing: ["000000"]).expect(77, errors: "cancelled")
            try await program(["history"], of: "passkeys").expect(0, errors: "no requests yet")
            #expect(!program.log.contains(Self.pin), "the PIN was sent to pinentry")
        }
    }

    @Test("rename changes the names only; delete asks first, names the passkey, and is permanent")
    func changes() async throws {
        try await Self.withPasskeys { program in
            let before = try await Self.list(program)
            try await program(["rename", "example.com", "lovelace"], of: "passkeys").expect(
                0,
                errors: #"shown as "lovelace""#
            )
            let json = try await program(
                ["rename", "shop.example.org", "robert", "--display-name", "Rob", "--json"],
                of: "passkeys"
            )
            #expect(json.output.contains(#""userName":"robert","userDisplayName":"Rob""#), "\(json)")
            let renamed = try await Self.list(program)
            #expect(renamed.map(\.userName) == ["eve@example.net", "robert", "lovelace"])
            #expect(renamed[2].userDisplayName == before[2].userDisplayName)
            #expect(renamed.map(\.credentialId) == before.map(\.credentialId))
            #expect(try await program(["rename", "example.com", ""], of: "passkeys").status == 64)

            let delete = ["delete", "example.com"]
            let no = try await program(delete, of: "passkeys", confirming: false)
            no.expect(77, errors: "nothing was changed")
            #expect(
                program.log.contains(
                    #"SETDESC example.com%0A%0ADelete the passkey of this account permanently?%0A"lovelace"%0AIt is deleted on every"#
                )
            )
            #expect(try await Self.list(program).count == 3)
            try await program(delete, of: "passkeys").expect(0, errors: "remove it at the site, too")
            try await program(delete, of: "passkeys").expect(77, errors: "no such passkey")
            let asked = program.log.components(separatedBy: "CONFIRM").count
            let yes = ["delete", "shop.example.org", "--yes", "--json"]
            let deleted = try await program(yes, of: "passkeys")
            #expect(deleted.status == 0 && deleted.output.contains(before[1].id), "\(deleted)")
            #expect(program.log.components(separatedBy: "CONFIRM").count == asked, "--yes asks for the PIN alone")
            #expect(try await Self.list(program).map(\.id) == [before[0].id])
        }
    }

    @Test("names with control characters are printed escaped everywhere")
    func hostileNames() async throws {
        try await Self.withPasskeys { program in
            let name = "\u{1B}[2J\u{1B}]0;x\u{7}\u{202E}evil\r\nID  fake\u{200B}" + String(repeating: "w", count: 5000)
            let typed = [Self.pin]
            let renamed = try await program(
                ["rename", "example.com", name, "--display-name", name],
                of: "passkeys",
                typing: typed
            )
            #expect(renamed.status == 0, "\(renamed)")
            for command in [
                ["list"], ["show", "example.com"], ["list", "--json"], ["show", "example.com", "--json"],
            ] {
                let ending = try await program(command, of: "passkeys", typing: typed)
                #expect(ending.status == 0, "\(command)")
                for text in [ending.output, ending.errors, renamed.errors] {
                    let bad = text.unicodeScalars.filter {
                        ($0.value < 0x20 && $0 != "\n") || $0.properties.isBidiControl || $0.value == 0x7F
                            || $0.properties.isDefaultIgnorableCodePoint
                    }
                    #expect(bad.isEmpty, "\(command)")
                }
                let isJSON = command.contains("--json")
                let lengths = ending.output.split(separator: "\n").map(\.unicodeScalars.count)
                #expect(isJSON || lengths.allSatisfy { $0 < 200 }, "\(command)")
                let line = isJSON ? nil : ending.output.split(separator: "\n").first { $0.contains("fake") }
                #expect(isJSON || line?.contains("[2J]0;xevilID fake") == true, "\(command): \(ending.output)")
            }
            #expect(try await Self.list(program).last?.userName == name, "JSON has the whole name")
            let question = try await program(
                ["delete", "example.com"],
                of: "passkeys",
                typing: typed,
                confirming: false
            )
            #expect(question.status == 77)
            #expect(program.log.split(separator: "\n").allSatisfy { $0.utf8.count < 1000 })
        }
    }

    @Test(
        "an independent program accepts the export, according to the published structure",
        .enabled(if: Python.interpreter != nil)
    )
    func export() async throws {
        try await Self.withPasskeys { program in
            let file = program.folder + "/export.json"
            let no = try await program(["export", file], of: nil, confirming: false)
            no.expect(77, errors: "nothing was changed")
            #expect(!FileManager.default.fileExists(atPath: file))
            // The PIN prompt says so, too, because it is the only one with --yes.
            for prompt in ["all passkeys of this vault to a file", "3 passkeys to this file"] {
                #expect(program.log.contains("SETDESC Write \(prompt), with their keys in the clear"), "\(prompt)")
            }
            try await program(["export", file], of: nil, typing: ["000000"]).expect(77, errors: "cancelled")
            try await program(["export", file], of: nil).expect(0, errors: "wrote 3 passkeys")
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let yes = try await program(["export", file, "--yes"], of: nil, confirming: false)
            yes.expect(74, errors: "already exists")

            let check = try await RunningProgram(
                try Python.path(),
                [Self.folder + "/check_export.py", file],
                in: program.folder
            ).ending()
            #expect(check.status == 0, "\(check)")
            struct Checked: Decodable {
                let rpId: String
                let username: String
                let `public`: String
                let creationAt: Int?
                let fido2Extensions: Extensions
            }
            struct Extensions: Decodable, Equatable {
                struct Secrets: Decodable, Equatable {
                    let credWithUV: String
                    let credWithoutUV: String
                }
                struct Blob: Decodable, Equatable {
                    let uncompressedSize: Int
                    let data: String
                }
                let hmacCredentials: Secrets?
                let credBlob: String?
                let largeBlob: Blob?
                let payments: Bool?
            }
            let checked = try JSONDecoder().decode([String: Checked].self, from: Data(check.output.utf8))
            let publicKeys = try Data(contentsOf: URL(fileURLWithPath: Self.folder + "/other-manager.public.json"))
            let known = try JSONDecoder().decode([String: String].self, from: publicKeys)
            #expect(checked.mapValues(\.public) == known)
            // The extensions of the other manager are exported again.
            struct Source: Decodable {
                struct Account: Decodable { let items: [Item] }
                struct Item: Decodable { let credentials: [Credential] }
                struct Credential: Decodable {
                    let credentialId: String?
                    let fido2Extensions: Extensions?
                }
                let accounts: [Account]
            }
            let source = try JSONDecoder().decode(
                Source.self,
                from: Data(contentsOf: URL(fileURLWithPath: Self.foreign))
            )
            for credential in source.accounts.flatMap(\.items).flatMap(\.credentials) {
                guard let id = credential.credentialId, let found = checked[id] else { continue }
                let bare = Extensions(hmacCredentials: nil, credBlob: nil, largeBlob: nil, payments: nil)
                #expect(found.fido2Extensions == credential.fido2Extensions ?? bare, "\(found.rpId)")
            }
        }
    }

    @Test("import names what it omits, ignores duplicates, and reports an invalid file before any prompt")
    func importing() async throws {
        try await VaultProgram.run { program in
            try await program.makeVault()
            let asked = program.log
            let listed = [
                "1 passkey for example.com", "1 passkey for login.example.net", "1 passkey for shop.example.org",
            ]
            let cancelled = try await program(["import", Self.foreign], of: nil, typing: [])
            cancelled.expect(77, errors: "nothing was changed")
            for line in listed { #expect(cancelled.errors.contains("in the file: \(line)\n"), "\(cancelled)") }
            #expect(
                program.log.contains(
                    "SETDESC Add 3 passkeys of a file to this vault, for%0Aexample.com%0Alogin.example.net%0Ashop.example.org%0A"
                )
            )
            let first = try await program(["import", Self.foreign], of: nil)
            first.expect(0, errors: "added 3 passkeys")
            for words in [
                #"left out: 1 of type "basic-auth""#, #"left out: 1 of type "totp""#, #"1 of type "from-the-future""#,
                #"left out: a passkey for "rsa.example" (account "rsa") with a key that this program can't use"#,
                #"left out: a passkey for "Not A Domain" (account "x") whose rpId is missing or not"#,
                "without hmacSecret, which this program can't keep: 1 passkey",
            ] {
                #expect(first.errors.contains(words), "\(words): \(first)")
            }
            #expect(program.log != asked)
            let before = program.contents()
            let again = try await program(["import", Self.foreign], of: nil)
            again.expect(0, errors: "added 0 passkeys, 3 here already, 8 left out")
            #expect(program.contents() == before)

            let quiet = program.log
            let bad = program.folder + "/bad.json"
            try await program(["import", bad], of: nil).expect(66, errors: "missing")
            try TestFile.write("hello", to: bad)
            try await program(["import", bad], of: nil).expect(65, errors: "not JSON")
            try TestFile.write(#"{"version":{"major":3,"minor":0},"accounts":[]}"#, to: bad)
            try await program(["import", bad], of: nil).expect(65, errors: "version 3")
            try TestFile.write(#"{"version":{"major":1,"minor":0},"accounts":[]}"#, to: bad)
            try await program(["import", bad], of: nil).expect(0, errors: "no passkey in")
            try await program(["import", "/dev/zero"], of: nil).expect(66, errors: "wrong kind")
            #expect(program.log == quiet && program.contents() == before)

            try await program(["import", Self.foreign], of: nil, typing: ["000000"]).expect(77, errors: "cancelled")
            let other = program.folder + "/other.json"
            let all = try String(contentsOfFile: Self.foreign, encoding: .utf8)
            try all.replacing("example.com\"", with: "example.edu\"").write(
                toFile: other,
                atomically: true,
                encoding: .utf8
            )
            let refused = try await program(["import", other], of: nil, under: Tracer.fullDisk)
            #expect(refused.status == 74, "\(refused)")
            #expect(
                program.contents().filter { $0.key.hasPrefix("records/") }
                    == before.filter {
                        $0.key.hasPrefix("records/")
                    }
            )
            let export = program.folder + "/export.json"
            let unwritten = try await program(["export", export], of: nil, under: Tracer.fullDisk)
            #expect(unwritten.status == 74 && !FileManager.default.fileExists(atPath: export), "\(unwritten)")
        }
    }

    @Test(
        "passkeys of a later version are listed as such, can't be renamed or exported, and can be deleted",
        .enabled(if: Python.interpreter != nil)
    )
    func unusable() async throws {
        try await VaultProgram.run { program in
            let files = FileManager.default
            let formats = PackageFolder.path + "/Tests/Phone/VaultFormat"
            try files.copyItem(atPath: formats + "/vector/vault", toPath: program.vault)
            try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.vault)
            let script = """
                import os, sys
                sys.path.insert(0, sys.argv[1])
                import vault_format
                vault, key = vault_format.Vault(bytes(range(0x20, 0x30))), bytes(range(0x20))
                user = {"id": b"u", "name": "zoe", "displayName": "Zoe"}
                later = {"id": b"later", "rp": "later.example", "alg": -8, "key": b"?", "order": 9, "user": user}
                for number, members in ((0x77, later), (0x78, {"anything": 1})):
                    name, device = bytes([number]) * 16, bytes(range(0x48, 0x50))
                    os.makedirs(sys.argv[2] + "/records/" + name.hex())
                    with open("%s/records/%s/1-%s" % (sys.argv[2], name.hex(), device.hex()), "wb") as file:
                        file.write(vault.record(key, name, 1, device, 1, members, os.urandom(12)))
                """
            let made = try await RunningProgram(
                try Python.path(),
                ["-B", "-c", script, formats, program.vault],
                in: program.folder
            ).ending()
            #expect(made.status == 0, "\(made)")
            let typed = [VaultProgram.passphrase, Self.pin, Self.pin]
            try await program(["init"], typing: typed).expect(0, errors: "a PIN on this")

            let listed = try await Self.list(program)
            #expect(listed.count == 4 && listed.filter(\.usable).map(\.userName) == ["bob", "lovelace"])
            #expect(listed.filter { !$0.usable }.map(\.rpId) == ["later.example", nil])
            let table = try await program(["list"], of: "passkeys")
            let words = table.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(words.contains(#"later.example (this version can't use it) "zoe""#), "\(table)")
            #expect(words.contains("- (this version can't use it) -"), "\(table)")
            let shown = try await program(["show", "7878"], of: "passkeys")
            #expect(shown.status == 0 && shown.output.contains("usable        no, a later version"), "\(shown)")
            try await program(["rename", "7878", "x"], of: "passkeys").expect(77, errors: "can't read that passkey")
            let export = try await program(["export", program.folder + "/e", "--yes"], of: nil)
            export.expect(0, errors: "left out: 2 passkeys that this version can't use")
            for which in ["7878", "later.example"] {
                try await program(["delete", which], of: "passkeys").expect(0, errors: "deleted")
            }
            #expect(program.log.contains("SETDESC A passkey that this version can't read%0A"))
            #expect(try await Self.list(program).count == 2)

            // Two passkeys of one site are distinguished by their IDs only.
            try await program(["import", Self.foreign], of: nil).expect(0, errors: "added 3")
            let both = try await program(["show", "example.com"], of: "passkeys")
            both.expect(64, errors: "2 passkeys match: ")

            let history = try await program(["history"], of: "passkeys")
            let lines = history.output.split(separator: "\n")
            try #require(lines.count == 3, "\(history)")
            #expect(lines[1].hasSuffix("sign in  declined  -         example.org"), "\(history)")
            #expect(lines[2].hasSuffix("create   done      01010101  example.com"), "\(history)")
        }
    }

    @Test("an export can be imported into another vault without loss")
    func roundTrip() async throws {
        try await Self.withPasskeys { program in
            let file = program.folder + "/export.json"
            try await program(["export", file, "--yes"], of: nil).expect(0, errors: "wrote 3")
            try await VaultProgram.run { other in
                try await other.makeVault()
                try await other(["import", file], of: nil).expect(0, errors: "added 3")
                let (here, there) = (try await Self.list(program), try await Self.list(other))
                #expect(here.map(\.credentialId) == there.map(\.credentialId), "in the same order")
                #expect(here.map(\.created) == there.map(\.created))
            }
        }
    }
}
