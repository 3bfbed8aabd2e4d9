// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// What `hybrid-auth scan` writes into the history, and `hybrid-auth passkeys` reads there.
@Suite("The history of whole ceremonies", .keepsEvidence, .serialized)
struct CeremonyHistoryTests {
    private struct Use: Decodable, Equatable {
        let rpId: String
        let operation: String
        let outcome: String
        let passkey: String?
    }

    private struct History: Decodable {
        let history: [Use]
    }

    private struct List: Decodable {
        struct Entry: Decodable {
            let id: String
            let created: Int
            let lastUsed: Int?
        }
        let passkeys: [Entry]
    }

    private static func ask<Answer: Decodable>(
        _ stage: Stage,
        _ command: [String],
        as: Answer.Type
    ) async throws -> Answer {
        let ending = try await RunningProgram(
            "hybrid-auth",
            ["passkeys"] + command + [
                "--json", "--vault", stage.vault, "--pinentry", Person.program(in: stage.folder),
            ],
            in: stage.folder,
            environment: stage.environment(Person().variables(stage))
        ).ending()
        #expect(ending.status == 0, "\(ending)")
        return try JSONDecoder().decode(Answer.self, from: Data(ending.output.utf8))
    }

    @Test("each request that opened the vault is there with what came of it, and no other")
    func whole() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            try await stage.register(site)
            let record = try #require(try await Self.ask(stage, ["list"], as: List.self).passkeys.first)
            #expect(record.lastUsed == nil && record.created > 0)

            let signed = try await stage.perform(try await site.run("request-options"))
            #expect(signed.authenticator.status == 0, "\(signed)")
            _ = try await stage.perform(try await site.run("request-options"), Person(confirms: "no"))
            _ = try await stage.perform(try await site.run("request-options"), Person(pin: "not it"))
            _ = try await stage.perform(try await site.run("create-options", ["--exclude"]))
            let foreign = #"{"publicKey": {"rpId": "other.example", "challenge": "AAAAAAAAAAAAAAAAAAAAAA"}}"#
            let (client, code) = try await stage.startClient(foreign, origin: "https://other.example")
            let phone = try stage.startAuthenticator(code)
            _ = try await client.ending()
            _ = try await phone.ending()

            let asked = Person.log(stage).components(separatedBy: "CONFIRM").count
            let (leaving, last) = try await stage.startClient(try await site.run("request-options"))
            let waiting = try stage.startAuthenticator(last, Person(confirms: "wait"))
            try await Waiting.until("the question", within: .seconds(60)) {
                Person.log(stage).components(separatedBy: "CONFIRM").count > asked
            }
            leaving.send(SIGINT)
            _ = try await leaving.ending()
            #expect(try await waiting.ending().status == 75)

            let uses = try await Self.ask(stage, ["history"], as: History.self).history
            func use(
                _ outcome: String,
                _ operation: String = "sign-in",
                at site: String = "example.com",
                _ passkey: String? = nil
            ) -> Use {
                Use(rpId: site, operation: operation, outcome: outcome, passkey: passkey)
            }
            #expect(
                uses == [
                    use("client-gone"), use("no-passkey", at: "other.example"), use("already-registered", "create"),
                    use("declined"), use("done", "sign-in", record.id), use("done", "create", record.id),
                ]
            )
            let own = try await Self.ask(stage, ["show", "example.com"], as: History.self).history
            #expect(own.map(\.outcome) == ["done", "done"])
            let after = try #require(try await Self.ask(stage, ["list"], as: List.self).passkeys.first)
            #expect(try #require(after.lastUsed) >= record.created)
            #expect(
                try await Self.ask(stage, ["history", "--last", "2"], as: History.self).history == Array(uses.prefix(2))
            )
        }
    }

    @Test("a history that can't be written is told, and breaks no sign-in")
    func unwritable() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            try await stage.register(site)
            let uses = stage.vault + "/uses"
            let files = FileManager.default
            try files.removeItem(atPath: uses)
            try Data("in the way".utf8).write(to: URL(fileURLWithPath: uses))
            let signed = try await stage.perform(try await site.run("request-options"))
            #expect(signed.client.status == 0 && signed.authenticator.status == 0, "\(signed)")
            try await site.run("verify-request", input: signed.client.output)
            #expect(signed.authenticator.errors.contains("could not be added to the history"), "\(signed)")
        }
    }
}
