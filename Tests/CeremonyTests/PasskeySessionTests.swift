// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `hybrid-auth passkeys session`, and the failures of commands with `--json`.
@Suite("hybrid-auth passkeys session, and failures in JSON", .serialized)
struct PasskeySessionTests {
    private static let pin = VaultProgram.pin
    private static let foreign = PackageFolder.path + "/Tests/Phone/CredentialExchange/other-manager.json"

    private static func withPasskeys(_ body: @Sendable (VaultProgram) async throws -> Void) async throws {
        try await VaultProgram.run { program in
            try await program.makeVault()
            try await program(["import", foreign], of: nil, typing: [pin]).expect(0, errors: "added 3 passkeys")
            try await body(program)
        }
    }

    /// Runs a session and returns its lines.
    private static func session(
        _ program: VaultProgram,
        _ commands: [String],
        typing: [String] = [pin],
        confirming: Bool = true
    ) async throws -> [[String: Any]] {
        let ending = try await program(
            ["session", "--json"],
            of: "passkeys",
            typing: typing,
            confirming: confirming,
            input: commands.map { $0 + "\n" }.joined()
        )
        #expect(ending.status == 0, "\(ending)")
        return try lines(ending.output)
    }

    private static func lines(_ text: String) throws -> [[String: Any]] {
        try text.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    private static func code(_ line: [String: Any]) -> String? { (line["error"] as? [String: Any])?["code"] as? String }

    /// Returns the event of a failure, the last line of standard error.
    private static func failure(_ ending: RunningProgram.Ending) throws -> [String: Any] {
        let line = try #require(try lines(ending.lastLine).first)
        #expect(line["event"] as? String == "error", "\(ending)")
        return line
    }

    @Test("One PIN, then lists, details, histories and a new name")
    func oneSession() async throws {
        try await Self.withPasskeys { program in
            let lines = try await Self.session(
                program,
                [
                    #"{"do":"list","n":1}"#, #"{"do":"show","n":2,"passkey":"example.com"}"#,
                    #"{"do":"rename","n":3,"passkey":"example.com","name":"ada","displayName":"Ada"}"#,
                    #"{"do":"history","n":4,"last":5}"#, #"{"do":"list","n":5,"hidden":true}"#,
                ]
            )
            try #require(lines.count == 6)
            #expect(lines[0]["ready"] as? Int == 1 && lines[0]["count"] as? Int == 3)
            #expect(lines.dropFirst().map { $0["n"] as? Int } == [1, 2, 3, 4, 5])
            #expect((lines[1]["passkeys"] as? [Any])?.count == 3 && lines[1]["hidden"] as? Int == 0)
            let shown = try #require(lines[2]["passkey"] as? [String: Any])
            #expect(shown["rpId"] as? String == "example.com" && shown["history"] != nil)
            let renamed = try #require(lines[3]["passkey"] as? [String: Any])
            #expect(renamed["userName"] as? String == "ada" && renamed["userDisplayName"] as? String == "Ada")
            #expect(lines[4]["history"] as? [Any] != nil)
            let names = (lines[5]["passkeys"] as? [[String: Any]])?.compactMap { $0["userName"] as? String }
            #expect(names?.contains("ada") == true)
            #expect(program.log.components(separatedBy: "GETPIN").count == 3, "import, session once")
        }
    }

    @Test("A deletion needs the PIN again, and consent")
    func deletion() async throws {
        try await Self.withPasskeys { program in
            let delete = #"{"do":"delete","n":1,"passkey":"example.com"}"#
            let list = #"{"do":"list","n":2}"#
            let unasked = try await Self.session(program, [delete, list])
            #expect(Self.code(unasked[1]) == "declined", "no second PIN was typed")
            let declined = try await Self.session(
                program,
                [delete, list],
                typing: [Self.pin, Self.pin],
                confirming: false
            )
            #expect(Self.code(declined[1]) == "declined" && (declined[2]["passkeys"] as? [Any])?.count == 3)
            let wrong = [Self.pin, "000000", "000000", "000000"]
            let refused = try await Self.session(program, [delete, list], typing: wrong)
            #expect(Self.code(refused[1]) == "wrong-pin" && (refused[2]["passkeys"] as? [Any])?.count == 3)
            let deleted = try await Self.session(program, [delete, list, delete], typing: [Self.pin, Self.pin])
            #expect((deleted[1]["passkey"] as? [String: Any])?["rpId"] as? String == "example.com")
            #expect((deleted[2]["passkeys"] as? [Any])?.count == 2 && Self.code(deleted[3]) == "not-found")
        }
    }

    @Test("Malformed commands get an error with their number and do not end the session")
    func malformed() async throws {
        try await Self.withPasskeys { program in
            let wrong = [
                "", "no JSON", "[]", #"{"do":"list"}"#, #"{"n":1,"n":1,"do":"list"}"#, #"{"do":"fly","n":6}"#,
                #"{"do":"show","n":7}"#, #"{"do":"show","n":8,"passkey":7}"#,
                #"{"do":"rename","n":9,"passkey":"example.com","name":""}"#,
                #"{"do":"rename","n":10,"passkey":"example.com","name":["ada"]}"#,
                #"{"do":"list","n":-1}"#, #"{"do":"history","n":12,"last":"many"}"#,
            ]
            let lines = try await Self.session(program, wrong + [#"{"do":"list","n":99}"#])
            try #require(lines.count == wrong.count + 2)
            #expect(lines[1...wrong.count].allSatisfy { Self.code($0) == "malformed" }, "\(lines)")
            #expect(lines[6]["n"] as? Int == 6 && lines[4]["n"] is NSNull)
            #expect((lines.last?["passkeys"] as? [Any])?.count == 3)
            for which in ["none.example", "abc", "ffffffff"] {
                let found = try await Self.session(program, [#"{"do":"show","n":1,"passkey":"\#(which)"}"#])
                #expect(Self.code(found[1]) == "not-found")
            }
            let long = #"{"do":"list","n":1,"x":"\#(String(repeating: "x", count: 9000))"}"# + "\n"
            let ending = try await program(["session", "--json"], of: "passkeys", input: long)
            #expect(try ending.status == 65 && Self.failure(ending)["code"] as? String == "bad-data", "\(ending)")
        }
    }

    @Test("With --json, failures are events with a code, also those of the command line")
    func failures() async throws {
        try await VaultProgram.run { program in
            func code(_ arguments: [String], of command: String?, typing: [String] = [Self.pin]) async throws -> String?
            {
                let ending = try await program(arguments + ["--json"], of: command, typing: typing)
                #expect(ending.status != 0 && ending.output.isEmpty, "\(ending)")
                return try Self.failure(ending)["code"] as? String
            }
            #expect(try await code(["list"], of: "passkeys") == "no-vault")
            #expect(try await code(["list", "--wrong"], of: "passkeys") == "usage")
            let made = try await program(["init", "--json"], typing: [Self.pin, Self.pin])
            #expect(try Self.lines(made.output).first?["created"] as? Bool == true && made.errors.isEmpty, "\(made)")
            #expect(try await code(["list"], of: "passkeys", typing: []) == "declined")
            #expect(try await code(["show", "none.example"], of: "passkeys") == "not-found")
            #expect(try await code(["backup", program.folder + "/b"], of: "vault") == "not-permitted")
            let wrong = [String](repeating: "000000", count: 3)
            #expect(try await code(["list"], of: "passkeys", typing: wrong) == "wrong-pin")
            #expect(try await code(["list"], of: "passkeys", typing: wrong) == "locked-out")
            let ending = try await program(["list", "--json"], of: "passkeys")
            let seconds = try #require(try Self.failure(ending)["waitSeconds"] as? Int)
            #expect((1...60).contains(seconds), "\(ending)")
        }
    }

    @Test("With --json, vault, import and export commands print one object, and no other line")
    func results() async throws {
        try await Self.withPasskeys { program in
            func result(
                _ arguments: [String],
                of command: String? = "vault",
                typing: [String] = [Self.pin]
            ) async throws
                -> [[String: Any]]
            {
                let ending = try await program(arguments + ["--json"], of: command, typing: typing)
                #expect(ending.status == 0 && ending.errors.isEmpty, "\(ending)")
                return try Self.lines(ending.output)
            }
            #expect(try await result(["recovery-code"]).first?["recoveryCode"] as? String == "added")
            let twice = [VaultProgram.passphrase, VaultProgram.passphrase]
            let strength = try await result(["add-passphrase"], typing: [Self.pin] + twice).first?["bits"] as? Int
            #expect(try #require(strength) > 40)
            let backup = try await result(["backup", program.folder + "/backup"]).first
            #expect((backup?["key"] as? String)?.isEmpty == false)
            #expect(try await result(["restore", program.folder + "/backup"]).first?["addedFiles"] as? Int == 0)
            #expect(try await result(["change-pin"], typing: [Self.pin, "7654321", "7654321"]).first?["pin"] != nil)
            #expect(try await result(["change-pin"], typing: ["7654321", Self.pin, Self.pin]).first?["pin"] != nil)
            #expect(try await result(["accept"]).first?["missing"] as? Int == 0)
            let written = try await result(["export", program.folder + "/all.json"], of: nil).first
            #expect(written?["written"] as? Int == 3 && written?["private"] as? Bool == true)
            let imported = try await result(["import", Self.foreign], of: nil)
            try #require(imported.count == 2)
            #expect((imported[0]["sites"] as? [Any])?.count == 3)
            #expect(imported[1]["added"] as? Int == 0 && (imported[1]["present"] as? [Any])?.count == 3)
            let new = "another horse battery staple orbit"
            let key = try await result(["rekey"], typing: [Self.pin, new, new]).first?["key"] as? String
            #expect(key?.isEmpty == false)
        }
    }
}
