// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `hybrid-auth give` and `receive` over a virtual radio and a relay, each with a vault and a user of its own.
@Suite("Passkeys for a person nearby", .keepsEvidence, .serialized)
struct NearbyTests {
    /// A device with a vault and a user.
    private struct Side {
        let environment: CeremonyEnvironment
        let name: String
        let adapter: String

        private var folder: String { "\(environment.folder)/\(name)" }
        private var log: String { folder + "/pinentry.log" }
        /// The commands that its pinentry has received.
        var asked: String { TestFile.text(log) }

        func start(
            _ arguments: [String],
            _ user: TestUser = TestUser(),
            input: String? = nil
        ) throws -> RunningProgram {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            var variables = user.variables(in: folder)
            variables["XDG_STATE_HOME"] = folder + "/state"
            let options = ["--vault", folder + "/vault", "--pinentry", TestUser.program(in: environment.folder)]
            return try environment.start("hybrid-auth", arguments + options, variables: variables, input: input)
        }

        func run(_ arguments: [String]) async throws -> RunningProgram.Ending {
            let ending = try await start(arguments).ending()
            #expect(ending.status == 0, "\(ending)")
            return ending
        }

        /// Creates a vault, with a passkey for each account.
        func makeVault(_ accounts: [String]) async throws {
            _ = try await run(["vault", "init"])
            guard !accounts.isEmpty else { return }
            let path = folder + "/import.json"
            try TestFile.write(try NearbyTests.document(accounts), to: path)
            _ = try await run(["import", path])
        }

        func accounts() async throws -> [String] {
            struct List: Decodable {
                struct Entry: Decodable { let userName: String }
                let passkeys: [Entry]
            }
            let ending = try await run(["passkeys", "list", "--json"])
            return try JSONDecoder().decode(List.self, from: Data(ending.output.utf8)).passkeys.map(\.userName).sorted()
        }

        func receive(_ user: TestUser = TestUser()) throws -> RunningProgram {
            try start(["receive", "--json", "--name", name, "--adapter", adapter] + environment.network, user)
        }

        func give(_ code: String, _ options: [String], _ user: TestUser = TestUser()) throws -> RunningProgram {
            let relay = ["--tunnel-domain", "\(CeremonyEnvironment.domain)"] + environment.network
            let words = ["give"] + options + ["-", "--json", "--name", name, "--adapter", adapter]
            return try start(words + relay, user, input: code + "\n")
        }
    }

    /// Returns a document of the Credential Exchange Format, with published keys.
    private static func document(_ accounts: [String]) throws -> String {
        let key = """
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAGhRANCAARrF9Hy4SxC\
            R_i85uVjpEDydwN9gS3rM6D0oTlF2JjClk_jQuL-Gn-bjufrSnwPnhYrzjNXazFezsu2QGg3v1H1
            """
            .filter { $0 != "\n" }
        let items = accounts.map { account in
            let id = Data(account.utf8).base64EncodedString().filter { $0 != "=" }
            return """
                {"id":"\(id)","title":"x","credentials":[{"type":"passkey","credentialId":"\(id)","rpId":"example.com",\
                "username":"\(account)","userDisplayName":"","userHandle":"\(id)","key":"\(key)"}]}
                """
        }
        return """
            {"version":{"major":1,"minor":0},"exporterRpId":"x.invalid","exporterDisplayName":"x","timestamp":1,\
            "accounts":[{"id":"AA","username":"","email":"","collections":[],"items":[\(items.joined(separator: ","))]}]}
            """
    }

    private static func sides(_ environment: CeremonyEnvironment) async throws -> (giver: Side, receiver: Side) {
        let giver = Side(environment: environment, name: "ada", adapter: "hci1")
        let receiver = Side(environment: environment, name: "bob", adapter: "hci0")
        try await giver.makeVault(["ada", "bert"])
        try await receiver.makeVault([])
        return (giver, receiver)
    }

    /// Waits for the code of a receiver.
    private static func code(of receiving: RunningProgram) async throws -> String {
        let line = try await receiving.line { $0.contains("HYBRID:/") }
        let digits = line.split(separator: "HYBRID:/", maxSplits: 1).last?.prefix { $0.isNumber }
        return "HYBRID:/\(try #require(digits))"
    }

    private static func digits(_ errors: String) throws -> String {
        let rest = try #require(errors.split(separator: "\"digits\":\"").dropFirst().first)
        return String(rest.prefix { $0 != "\"" })
    }

    @Test("One passkey is given: equal digits, both users agree, both vaults have it")
    func one() async throws {
        try await CeremonyEnvironment.run { environment in
            let (giver, receiver) = try await Self.sides(environment)
            let receiving = try receiver.receive()
            let given = try await giver.give(try await Self.code(of: receiving), ["--all", "--move"]).ending()
            let received = try await receiving.ending()
            #expect(given.status == 0 && received.status == 0, "\(given) \(received)")
            #expect(try Self.digits(given.errors) == Self.digits(received.errors))
            #expect(given.output.contains(#""given":2,"deleted":2"#) && received.output.contains(#""added":2"#))
            #expect(try await giver.accounts().isEmpty)
            #expect(try await receiver.accounts() == ["ada", "bert"])
            try await environment.untilNoAdverts()
        }
    }

    @Test("A giver's user who sees other digits is asked for no PIN, and the receiver learns nothing")
    func otherDigits() async throws {
        try await CeremonyEnvironment.run { environment in
            let (giver, receiver) = try await Self.sides(environment)
            let before = giver.asked.ranges(of: "GETPIN").count
            let receiving = try receiver.receive()
            let no = TestUser(confirms: "pick:nothing like that")
            let given = try await giver.give(try await Self.code(of: receiving), ["--all"], no).ending()
            let received = try await receiving.ending()
            #expect(given.status == 77 && received.status == 77, "\(given) \(received)")
            #expect(giver.asked.ranges(of: "GETPIN").count == before)
            #expect(received.errors.contains("did not confirm the digits"), "\(received)")
            #expect(!received.errors.contains("example.com"), "\(received)")
            #expect(try await receiver.accounts().isEmpty)
        }
    }

    @Test("A giver's user who does not agree to the list gives nothing away, not even a name")
    func declinedList() async throws {
        try await CeremonyEnvironment.run { environment in
            let (giver, receiver) = try await Self.sides(environment)
            let receiving = try receiver.receive()
            let no = TestUser(confirms: "pick:Both screens must show")
            let given = try await giver.give(try await Self.code(of: receiving), ["--all"], no).ending()
            let received = try await receiving.ending()
            #expect(given.status == 77 && received.status == 77, "\(given) \(received)")
            #expect(given.errors.contains("example.com") && !received.errors.contains("example.com"), "\(received)")
            #expect(try await receiver.accounts().isEmpty)
        }
    }

    @Test("A receiver's user who does not agree stores nothing, and nothing is deleted at the giver")
    func declinedOffer() async throws {
        try await CeremonyEnvironment.run { environment in
            let (giver, receiver) = try await Self.sides(environment)
            let receiving = try receiver.receive(TestUser(confirms: "no"))
            let given = try await giver.give(try await Self.code(of: receiving), ["--all", "--move"]).ending()
            let received = try await receiving.ending()
            #expect(given.status == 77 && received.status == 77, "\(given) \(received)")
            #expect(try await receiver.accounts().isEmpty)
            #expect(try await giver.accounts() == ["ada", "bert"])
        }
    }
}
