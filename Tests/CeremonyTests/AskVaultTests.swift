// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Commands on a vault whose user is asked by a program in place of pinentry.
@Suite("hybrid-auth vault and passkeys with a program that asks", .serialized)
struct AskVaultTests {
    private static let pin = VaultProgram.pin
    private static let foreign = PackageFolder.path + "/Tests/Phone/CredentialExchange/other-manager.json"
    private static let create = #"{"new-pin":[{"pin":"12"},{"pin":"\#(pin)"}]}"#

    /// Runs a command and returns its ending and the user.
    private static func run(
        _ program: VaultProgram,
        _ name: String,
        _ arguments: [String],
        of command: String? = "vault",
        _ script: String
    ) async throws -> (ending: RunningProgram.Ending, user: AskedUser) {
        let user = try AskedUser(in: program.folder, name, script)
        let ending = try await program(arguments + user.flags, of: command, variables: user.variables)
        try await user.untilEnded()
        return (ending, user)
    }

    @Test("the program asks for the PIN by its purpose, and before a passkey is deleted")
    func passkeys() async throws {
        try await VaultProgram.run { program in
            let (made, creator) = try await Self.run(program, "init", ["init"], Self.create)
            made.expect(0, errors: "created")
            let new = try creator.questions("new-pin")
            #expect(new.count == 2 && new[0]["problem"] == nil && new[1]["problem"]?["code"] == "too-short")
            #expect(new[0]["purpose"] == "set" && new[0]["path"] == .text(program.vault))
            #expect(try creator.story().last == "done")

            let pin = #""pin":[{"pin":"\#(Self.pin)"}]"#
            let (added, importer) = try await Self.run(program, "import", [Self.foreign], of: "import", "{\(pin)}")
            added.expect(0, errors: "added 3 passkeys")
            let question = try #require(try importer.questions("pin").first)
            #expect(question["purpose"] == "import" && question["timeout"] == .number(120))
            #expect(try question.text("text").contains("example.com"))

            let (listed, lister) = try await Self.run(program, "list", ["list"], of: "passkeys", "{\(pin)}")
            #expect(listed.status == 0 && listed.output.contains("shop.example.org"), "\(listed)")
            #expect(try lister.story() == ["pin", "done"])
            #expect(try lister.questions("pin").first?["purpose"] == "list")

            let arguments = ["delete", "login.example.net"]
            let (kept, decliner) = try await Self.run(program, "keep", arguments, of: "passkeys", "{\(pin)}")
            kept.expect(77, "cancelled")
            #expect(try decliner.story() == ["pin", "delete", "declined"])
            let script = #"{\#(pin),"delete":[{"agree":true}]}"#
            let (deleted, deleter) = try await Self.run(program, "delete", arguments, of: "passkeys", script)
            deleted.expect(0, errors: "deleted the passkey")
            let consent = try #require(try deleter.questions("delete").first)
            #expect(consent["rpId"] == "login.example.net" && consent["operation"] == nil)
            #expect(try consent.value("account").text("name") == "eve@example.net")
            #expect(try consent.text("passkey").count == 32)
            #expect(program.log.isEmpty, "pinentry is not used")
        }
    }

    @Test("the program shows the recovery code, and asks for a passphrase until it is strong enough")
    func secrets() async throws {
        try await VaultProgram.run { program in
            _ = try await Self.run(program, "init", ["init"], Self.create)
            let wrong = #"{"pin":[{"pin":"wrong"},{"pin":"\#(Self.pin)"}],"recovery-code":[{"agree":true}]}"#
            let (coded, reader) = try await Self.run(program, "code", ["recovery-code"], wrong)
            coded.expect(0, errors: "recovery code")
            let pins = try reader.questions("pin")
            #expect(pins.count == 2 && pins[1]["problem"]?["code"] == "wrong")
            guard case .list(let groups)? = try reader.questions("recovery-code").first?["groups"] else {
                throw JSONValue.Missing.key("groups")
            }
            #expect(groups.count == 6)

            let pin = #""pin":[{"pin":"\#(Self.pin)"}]"#
            let weak = #"{\#(pin),"new-secret":[{"secret":"abc"},{"secret":"\#(VaultProgram.passphrase)"}]}"#
            let (strong, writer) = try await Self.run(program, "weak", ["add-passphrase"], weak)
            strong.expect(0, errors: "the passphrase was added")
            let asked = try writer.questions("new-secret")
            #expect(asked.count == 2 && asked[0]["minimumBits"] == .number(64))
            #expect(asked[1]["problem"]?["code"] == "weak" && asked[1]["problem"]?["bits"] != nil)

            let new = #""new-pin":[{"pin":"7654"}]"#
            let script = #"{"secret":[{"secret":""},{"secret":"\#(VaultProgram.passphrase)"}],\#(new)}"#
            let (changed, joiner) = try await Self.run(program, "forgotten", ["change-pin", "--forgotten"], script)
            changed.expect(0, errors: "the PIN was changed")
            #expect(try joiner.story() == ["secret", "secret", "new-pin", "done"])
            #expect(try joiner.questions("secret").map { $0["purpose"] } == ["change-pin", "change-pin"])
            #expect(try joiner.questions("secret")[1]["problem"]?["code"] == "empty")
        }
    }

    @Test("a failure after a question is shown, and a program that ends declines")
    func failures() async throws {
        try await VaultProgram.run { program in
            _ = try await Self.run(program, "init", ["init"], Self.create)
            let wrong = #"{"pin":[{"pin":"wrong"}]}"#
            let (failed, user) = try await Self.run(program, "wrong", ["list"], of: "passkeys", wrong)
            #expect(failed.status == 77 && failed.lastLine.contains("PIN was wrong"), "\(failed)")
            #expect(try user.story() == ["pin", "pin", "pin", "failed"])
            let killed = try AskedUser(in: program.folder, "killed", #"{"pin":[{"kill":9}]}"#)
            let ended = try await program(["list"] + killed.flags, of: "passkeys", variables: killed.variables)
            ended.expect(77, "cancelled")
            #expect(program.log.isEmpty, "pinentry does not ask instead")
        }
    }
}
