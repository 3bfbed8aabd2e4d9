// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `hybrid-auth passkeys signal`, and ceremonies with the passkeys that it hides.
@Suite("Signals of a website", .keepsEvidence, .serialized)
struct SignalTests {
    private struct List: Decodable {
        struct Entry: Decodable {
            let rpId: String
            let credentialId: String
            let userHandle: String
            let userName: String
            let hidden: Bool
        }
        let passkeys: [Entry]
    }

    private static let pin = VaultProgram.pin
    private static let bitwarden = PackageFolder.path + "/Tests/Phone/CredentialExchange/bitwarden.json"

    private static func list(_ text: String) throws -> [List.Entry] {
        try JSONDecoder().decode(List.self, from: Data(text.utf8)).passkeys
    }

    @Test("a hidden passkey is not offered, an allow list finds it, and a later signal shows it again")
    func ceremonies() async throws {
        try await CeremonyEnvironment.run { environment in
            func passkeys(_ arguments: [String]) async throws -> RunningProgram.Ending {
                try await environment.start(
                    "hybrid-auth",
                    ["passkeys"] + arguments + [
                        "--vault", environment.vault, "--pinentry", TestUser.program(in: environment.folder),
                    ],
                    variables: TestUser().variables(in: environment.folder)
                ).ending()
            }
            try await environment.registerPasskey()
            let all = try await passkeys(["list", "--json", "--hidden"])
            let passkey = try #require(try Self.list(all.output).first)
            let file = environment.folder + "/signal.json"
            func signal(_ members: String) async throws {
                try TestFile.write(#"{"rpId":"\#(passkey.rpId)",\#(members)}"#, to: file)
                let ending = try await passkeys(["signal", file])
                #expect(ending.status == 0 && ending.errors.contains("changed 1 passkey"), "\(ending)")
            }

            try await signal(#""credentialId":"\#(passkey.credentialId)""#)
            let discovered = try await environment.runCeremony(try await environment.site("request-options"))
            #expect(discovered.client.status == 77 && discovered.authenticator.status == 77, "\(discovered)")
            let named = try await environment.runCeremony(try await environment.site("request-options", ["--allow"]))
            named.expectSuccess()
            try await environment.site("verify-request", input: named.client.output)
            // The site still excludes it, so it is no reason for a second passkey.
            let again = try await environment.runCeremony(try await environment.site("create-options", ["--exclude"]))
            #expect(again.client.status == 77, "\(again)")

            try await signal(
                #""userId":"\#(passkey.userHandle)","allAcceptedCredentialIds":["\#(passkey.credentialId)"]"#
            )
            let shown = try await environment.runCeremony(try await environment.site("request-options"))
            shown.expectSuccess()
            try await environment.site("verify-request", input: shown.client.output)

            // A new passkey of the account does not delete the hidden one, which the site may accept again.
            try await signal(#""credentialId":"\#(passkey.credentialId)""#)
            let made = try await environment.runCeremony(try await environment.site("create-options"))
            made.expectSuccess()
            try await environment.site("verify-creation", input: made.client.output)
            let both = try Self.list(try await passkeys(["list", "--json", "--hidden"]).output)
            #expect(both.map(\.hidden) == [false, true] && both[1].credentialId == passkey.credentialId)
        }
    }

    @Test("signals hide and show without a question, and rename after one; --hidden lists all")
    func commands() async throws {
        try await VaultProgram.run { program in
            try await program.makeVault()
            try await program(["import", Self.bitwarden], of: nil).expect(0, errors: "added 3 passkeys, 8 left out")
            let file = program.folder + "/signal.json"
            func signal(
                _ json: String,
                confirming: Bool = true,
                _ more: [String] = []
            ) async throws -> RunningProgram.Ending {
                try TestFile.write(json, to: file)
                return try await program(["signal", file] + more, of: "passkeys", confirming: confirming)
            }
            func visible(_ arguments: String...) async throws -> [String] {
                let ending = try await program(["list", "--json"] + arguments, of: "passkeys")
                return try Self.list(ending.output).map(\.userName)
            }
            let names = ["cy", "", "ada@example.com"]
            #expect(try await visible() == names)
            let unknown = #"{"rpId":"example.com","credentialId":"ouEElK8jQAyBRiMjThgw7Q"}"#
            let questions = program.log.components(separatedBy: "CONFIRM").count
            let hidden = try await signal(unknown, confirming: false)
            hidden.expect(0, errors: #"hidden: the passkey for example.com, account "ada@example.com""#)
            #expect(program.log.contains("SETDESC Apply what a website signals about its passkeys%0A%0Aexample.com%0A"))
            #expect(program.log.components(separatedBy: "CONFIRM").count == questions, "hiding asks for the PIN alone")
            try await signal(unknown).expect(0, errors: "nothing to change")
            #expect(try await visible() == ["cy", ""])
            #expect(try await visible("--hidden") == names)
            let table = try await program(["list"], of: "passkeys")
            #expect(table.errors.contains("not listed: 1 passkey hidden; list them with --hidden"), "\(table)")
            #expect(!table.output.contains("ada@example.com"))
            let full = try await program(["list", "--hidden"], of: "passkeys")
            #expect(full.output.contains(#"example.com        (hidden) "ada@example.com""#), "\(full)")
            let shown = try await program(["show", "example.com"], of: "passkeys")
            #expect(shown.output.contains("hidden        yes, the site"), "\(shown)")

            // Both signals of an array; the file is on standard input in scripts.
            let user = #""rpId":"example.com","userId":"YWRhQGV4YW1wbGUuY29t""#
            let array = """
                [{\(user),"allAcceptedCredentialIds":["ouEElK8jQAyBRiMjThgw7Q"]},
                 {\(user),"name":"lovelace","displayName":"Ada Lovelace"}]
                """
            try await signal(array, confirming: false).expect(77, errors: "nothing was changed")
            #expect(try await visible("--hidden") == names, "neither")
            let renamed = try await signal(array, ["--json"])
            #expect(renamed.status == 0, "\(renamed)")
            #expect(renamed.errors.contains(#"account "ada@example.com", is now "lovelace""#), "\(renamed)")
            #expect(renamed.errors.contains("shown again: the passkey for example.com"), "\(renamed)")
            #expect(try Self.list(renamed.output).map(\.userName) == ["lovelace"])
            #expect(
                program.log.contains(
                    #"Rename this account as the website signals?%0A%0Aexample.com%0A"ada@example.com" becomes "lovelace""#
                )
            )
            #expect(try await visible() == ["cy", "", "lovelace"])
            let back = #"{\#(user),"name":"ada","displayName":""}"#
            try await signal(back, confirming: false, ["--yes"]).expect(0, errors: #"is now "ada""#)

            let quiet = program.log
            let contents = program.contents()
            try await signal("{}").expect(65, errors: "rpId is missing")
            try await signal(String(repeating: " ", count: (1 << 20) + 1)).expect(65, errors: "too large")
            try await program(["signal", "/dev/zero"], of: "passkeys").expect(66, errors: "not a regular file")
            try await program(["signal", "-"], of: "passkeys").expect(65, errors: "not JSON")
            #expect(program.log == quiet && program.contents() == contents, "refused before any prompt")
        }
    }

    @Test("imports: archives, encrypted exports, and one line for each passkey that is left out or here already")
    func imports() async throws {
        try await VaultProgram.run { program in
            try await program.makeVault()
            let folder = PackageFolder.path + "/Tests/Phone/CredentialExchange/"
            let first = try await program(["import", folder + "bitwarden.zip"], of: nil)
            first.expect(0, errors: "added 3 passkeys, 8 left out: not everything in")
            for words in [
                #"left out: a passkey for "ed.example" (account "ed") with a key that this program can't use"#,
                #"left out: a passkey for "https://example.com" (account "site") whose rpId is missing or not what"#,
                #"left out: a passkey for "example.com" (account "nil") whose credentialId is missing"#,
                #"left out: 1 of type "password""#, "without counter, which this program can't keep: 1 passkey",
                "in the file: 1 passkey for shop.example.org",
            ] {
                #expect(first.errors.contains(words), "\(words): \(first)")
            }
            let again = try await program(["import", Self.bitwarden], of: nil)
            again.expect(0, errors: "added 0 passkeys, 3 here already, 8 left out")
            #expect(again.errors.contains(#"here already: a passkey for "example.com" (account "ada@example.com")"#))
            let draft = try await program(["import", folder + "cxf-draft.json"], of: nil)
            draft.expect(0, errors: "added 1 passkey, 1 left out")
            try await program(["import", folder + "cxp.zip"], of: nil).expect(0, errors: "added 3 passkeys")
            let asked = program.log
            let encrypted = try await program(["import", folder + "bitwarden-encrypted.json"], of: nil)
            encrypted.expect(65, errors: "encrypted export of Bitwarden; export again with the format .json or .zip")
            let bad = program.folder + "/bad.zip"
            try TestFile.write("PK\u{3}\u{4}", to: bad)
            try await program(["import", bad], of: nil).expect(65, errors: "the archive is damaged")
            #expect(program.log == asked, "refused before any prompt")
        }
    }
}
