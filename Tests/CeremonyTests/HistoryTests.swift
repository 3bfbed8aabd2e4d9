// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// The history that `hybrid-auth scan` writes and `hybrid-auth passkeys` reads.
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
        _ environment: CeremonyEnvironment,
        _ command: [String],
        as: Answer.Type
    ) async throws -> Answer {
        let ending = try await environment.start(
            "hybrid-auth",
            ["passkeys"] + command + [
                "--json", "--vault", environment.vault, "--pinentry", TestUser.program(in: environment.folder),
            ],
            variables: TestUser().variables(in: environment.folder)
        ).ending()
        #expect(ending.status == 0, "\(ending)")
        return try JSONDecoder().decode(Answer.self, from: Data(ending.output.utf8))
    }

    @Test("each request that unlocked the vault is recorded with its outcome, and no other")
    func whole() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let record = try #require(try await Self.ask(environment, ["list"], as: List.self).passkeys.first)
            #expect(record.lastUsed == nil && record.created > 0)

            let signed = try await environment.runCeremony(try await environment.site("request-options"))
            #expect(signed.authenticator.status == 0, "\(signed)")
            _ = try await environment.runCeremony(
                try await environment.site("request-options"),
                TestUser(confirms: "no")
            )
            _ = try await environment.runCeremony(
                try await environment.site("request-options"),
                TestUser(pin: "not it")
            )
            _ = try await environment.runCeremony(try await environment.site("create-options", ["--exclude"]))
            let foreign = #"{"publicKey": {"rpId": "other.example", "challenge": "AAAAAAAAAAAAAAAAAAAAAA"}}"#
            _ = try await environment.runCeremony(foreign, origin: "https://other.example")

            let asked = environment.confirmations
            let (leaving, last) = try await environment.startClient(try await environment.site("request-options"))
            let waiting = try environment.startAuthenticator(last, TestUser(confirms: "wait"))
            try await environment.untilAsked(moreThan: asked)
            leaving.send(SIGINT)
            _ = try await leaving.ending()
            #expect(try await waiting.ending().status == 75)

            let uses = try await Self.ask(environment, ["history"], as: History.self).history
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
            let own = try await Self.ask(environment, ["show", "example.com"], as: History.self).history
            #expect(own.map(\.outcome) == ["done", "done"])
            let after = try #require(try await Self.ask(environment, ["list"], as: List.self).passkeys.first)
            #expect(try #require(after.lastUsed) >= record.created)
            #expect(
                try await Self.ask(environment, ["history", "--last", "2"], as: History.self).history
                    == Array(uses.prefix(2))
            )
        }
    }

    @Test("a history that cannot be written is reported, and the sign-in succeeds")
    func unwritable() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let uses = environment.vault + "/uses"
            let files = FileManager.default
            try files.removeItem(atPath: uses)
            try TestFile.write("in the way", to: uses)
            let signed = try await environment.runCeremony(try await environment.site("request-options"))
            signed.expectSuccess()
            try await environment.site("verify-request", input: signed.client.output)
            #expect(signed.authenticator.errors.contains("could not be added to the history"), "\(signed)")
        }
    }
}
