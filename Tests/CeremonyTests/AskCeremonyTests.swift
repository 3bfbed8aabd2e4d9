// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// Ceremonies whose user is asked by a program in place of pinentry.
@Suite("Ceremonies with a program that asks", .keepsEvidence, .serialized)
struct AskCeremonyTests {
    private static let pin = #""pin":[{"pin":"\#(TestUser.rightPIN)"}]"#

    /// Starts a scan whose user is asked by the program; pinentry would answer, too.
    private static func scan(
        _ environment: CeremonyEnvironment,
        _ code: String,
        _ user: AskedUser,
        link: Bool = false,
        extra: [String] = []
    ) throws -> RunningProgram {
        try environment.startAuthenticator(code, link: link, extra: user.flags + extra, variables: user.variables)
    }

    /// Runs a ceremony whose user is asked by the program.
    private static func run(
        _ environment: CeremonyEnvironment,
        _ options: String,
        _ user: AskedUser,
        link: Bool = false,
        extra: [String] = []
    ) async throws -> CeremonyResult {
        let (client, code) = try await environment.startClient(options)
        let phone = try scan(environment, code, user, link: link, extra: extra)
        return CeremonyResult(client: try await client.ending(), authenticator: try await phone.ending())
    }

    /// Registers a passkey for an account; the user agrees to everything.
    private static func register(_ environment: CeremonyEnvironment, _ account: String) async throws -> AskedUser {
        let script = #"{"new-pin":[{"pin":"\#(TestUser.rightPIN)"}],\#(pin),"create":[{"agree":true}]}"#
        let user = try AskedUser(in: environment.folder, account, script)
        let made = try await run(environment, try await environment.site("create-options", ["--user", account]), user)
        made.expectSuccess()
        try await environment.site("verify-creation", input: made.client.output)
        try await user.untilEnded()
        return user
    }

    @Test("two accounts are registered, and the second in the list signs in; pinentry is not used")
    func secondAccount() async throws {
        try await CeremonyEnvironment.run { environment in
            let ada = try await Self.register(environment, "ada@example.com")
            let states = ["tunnel-open", "advertising", "connected", "asked"]
            #expect(
                try ada.story() == ["new-pin"] + states + ["pin", "create", "answered", "done", "done"],
                "the new PIN precedes all network traffic"
            )
            let first = try #require(try ada.questions("new-pin").first)
            #expect(first["minimum"] == .number(4) && first["purpose"] == "create-vault")
            #expect(first["path"] == .text(environment.vault))
            let consent = try #require(try ada.questions("create").first)
            #expect(consent["rpId"] == "example.com" && consent["site"] == "domain" && consent["operation"] == "create")
            #expect(try consent.value("account").text("name") == "ada@example.com")
            #expect(consent["replaces"] == .list([]))
            _ = try await Self.register(environment, "bob@example.com")

            let user = try await Self.signIn(environment, "sign-in")
            #expect(try user.story() == states + ["pin", "account", "answered", "done", "done"])
            let pin = try #require(try user.questions("pin").first)
            #expect(pin["ask"] == .number(1) && pin["timeout"] == .number(60) && pin["operation"] == "sign-in")
            #expect(pin["relay"] == .text(CeremonyEnvironment.host) && pin["codeAge"] != nil)
            #expect(pin["warnings"] == .list(["virtual-radio"]))
            let accounts = try Self.accounts(user)
            #expect(accounts.compactMap { $0["name"] } == ["bob@example.com", "ada@example.com"])
            #expect(accounts.allSatisfy { $0["lastUsed"] == nil }, "both have only been created")
            let used = try Self.accounts(try await Self.signIn(environment, "sign-in-again")).map { $0["lastUsed"] }
            guard used.count == 2, used[0] == nil, case .number? = used[1] else {
                Issue.record("expected the time of ada's sign-in only; found \(used)")
                return
            }
            // The site's own record names the account of the passkey.
            let listed = try await Self.list(environment)
            #expect(listed.contains { $0.hasSuffix("\"ada@example.com\"") && !$0.contains("never") }, "\(listed)")
            #expect(listed.contains { $0.hasSuffix("\"bob@example.com\"") && $0.contains("never") }, "\(listed)")
            #expect(environment.pinentryLog.isEmpty == false, "only this list has used pinentry")
            #expect(environment.confirmations == 0)
            #expect(try user.lines().contains { $0["notice"] == "virtual-radio" && $0["message"] != nil })
        }
    }

    /// Signs in with the second account.
    private static func signIn(_ environment: CeremonyEnvironment, _ name: String) async throws -> AskedUser {
        let user = try AskedUser(in: environment.folder, name, #"{\#(Self.pin),"account":[{"account":1}]}"#)
        let signed = try await run(environment, try await environment.site("request-options"), user)
        signed.expectSuccess()
        try await environment.site("verify-request", input: signed.client.output)
        try await user.untilEnded()
        return user
    }

    /// Returns the accounts of a question.
    private static func accounts(_ user: AskedUser) throws -> [JSONValue] {
        guard case .list(let accounts)? = try user.questions("account").first?["accounts"] else {
            throw JSONValue.Missing.key("accounts")
        }
        return accounts
    }

    /// Returns the lines of `passkeys list`, which asks with pinentry.
    private static func list(_ environment: CeremonyEnvironment) async throws -> [String] {
        let pinentry = TestUser.program(in: environment.folder)
        let ending = try await environment.start(
            "hybrid-auth",
            ["passkeys", "list", "--vault", environment.vault, "--pinentry", pinentry, "--ask", ""],
            variables: TestUser().variables(in: environment.folder)
        ).ending()
        return ending.output.split(separator: "\n").map(String.init)
    }

    /// A user who does not let a sign-in succeed.
    struct Refusal: CustomTestStringConvertible, Sendable {
        let name: String
        /// The answers to the PIN questions.
        let pin: String
        /// The answers to the question about the account.
        var account = #"[{"account":0}]"#
        /// The last line of the phone.
        var says = "declined"
        /// The program's story after `asked`; `nil` if the program ends.
        var story: [String]?

        var testDescription: String { name }

        static let right = #"[{"pin":"\#(TestUser.rightPIN)"}]"#

        static let all: [Refusal] = [
            Refusal(name: "declined", pin: #"[{"decline":true}]"#, story: ["pin", "declined"]),
            Refusal(
                name: "three wrong PINs",
                pin: #"[{"pin":"not it"}]"#,
                says: "PIN was wrong",
                story: ["pin", "pin", "pin", "failed"]
            ),
            Refusal(name: "nothing typed", pin: #"[{"pin":""}]"#, story: ["pin", "pin", "pin", "declined"]),
            Refusal(
                name: "account declined",
                pin: right,
                account: #"[{"decline":true}]"#,
                story: ["pin", "account", "declined"]
            ),
            Refusal(
                name: "account that was not offered",
                pin: right,
                account: #"[{"account":1}]"#,
                story: ["pin", "account", "declined"]
            ),
            Refusal(name: "malformed", pin: #"[{"raw":"{\"answer\":%N,\"pin\":1234}"}]"#, story: ["pin", "declined"]),
            Refusal(name: "killed", pin: #"[{"kill":9}]"#),
            Refusal(name: "exit", pin: #"[{"exit":0}]"#),
            Refusal(name: "exit at the account", pin: right, account: #"[{"exit":1}]"#),
        ]
    }

    @Test("a refusal, a wrong PIN and a program that ends change nothing, and pinentry does not ask instead")
    func refusals() async throws {
        try await CeremonyEnvironment.run { environment in
            _ = try await Self.register(environment, "ada@example.com")
            let before = environment.passkeys()
            for refusal in Refusal.all {
                let script = "{\"pin\":\(refusal.pin),\"account\":\(refusal.account)}"
                let user = try AskedUser(in: environment.folder, refusal.name, script)
                let ended = try await Self.run(environment, try await environment.site("request-options"), user)
                #expect(ended.client.status == 77 && ended.authenticator.status == 77, "\(refusal.name): \(ended)")
                #expect(ended.authenticator.lastLine.contains(refusal.says), "\(refusal.name): \(ended)")
                guard let story = refusal.story else { continue }
                try await user.untilEnded()
                #expect(try user.story().drop { $0 != "pin" } == story[...], "\(refusal.name)")
            }
            let wrong = try AskedUser(in: environment.folder, "three wrong PINs", "{}").questions("pin")
            #expect(wrong[0]["problem"] == nil)
            #expect(wrong[2]["problem"]?["code"] == "wrong" && wrong[2]["problem"]?["attemptsLeft"] != nil)
            #expect(environment.passkeys() == before)
            #expect(environment.pinentryLog.isEmpty)
            try await environment.untilNoAdverts()
        }
    }

    @Test("when the client closes, the question on the phone is withdrawn")
    func withdrawn() async throws {
        try await CeremonyEnvironment.run { environment in
            _ = try await Self.register(environment, "ada@example.com")
            let user = try AskedUser(in: environment.folder, "silent", #"{\#(Self.pin),"account":["silent"]}"#)
            let (client, code) = try await environment.startClient(try await environment.site("request-options"))
            let phone = try Self.scan(environment, code, user)
            try await user.untilAsked(#""kind":"account""#)
            client.send(SIGINT)
            let ended = try await phone.ending()
            #expect(ended.status == 75 && ended.lastLine.contains("the other device cancelled"), "\(ended)")
            try await user.untilEnded()
            #expect(try user.story().suffix(3) == ["account", "cancelled", "failed"])
            _ = try await client.ending()
        }
    }

    @Test("a signal closes the window without a failure")
    func interrupted() async throws {
        try await CeremonyEnvironment.run { environment in
            _ = try await Self.register(environment, "ada@example.com")
            let user = try AskedUser(in: environment.folder, "silent", #"{"pin":["silent"]}"#)
            let (client, code) = try await environment.startClient(try await environment.site("request-options"))
            let phone = try Self.scan(environment, code, user)
            try await user.untilAsked(#""kind":"pin""#)
            phone.send(SIGINT)
            #expect(try await phone.ending().status == 130)
            try await user.untilEnded()
            #expect(try user.story().suffix(3) == ["pin", "cancelled", "declined"])
            _ = try await client.ending()
        }
    }

    @Test("a program that is missing or not ready is replaced by pinentry, with one notice")
    func replaced() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let mute = try AskedUser(in: environment.folder, "mute", #"{"greeting":{"ready":2}}"#)
            for (program, variables) in [(AskedUser.program, mute.variables), ("/nonexistent/ask", [:])] {
                let (client, code) = try await environment.startClient(try await environment.site("request-options"))
                let asked = environment.confirmations
                let phone = try environment.startAuthenticator(
                    code,
                    extra: ["--ask", program, "--json"],
                    variables: variables
                )
                let ended = try await phone.ending()
                #expect(ended.status == 0, "\(ended)")
                #expect(try await client.ending().status == 0)
                #expect(environment.confirmations == asked + 1)
                let notices = try ended.events().filter { $0["notice"] == "no-ask-program" }
                #expect(notices.count == 1, "\(ended)")
                #expect(notices.first.flatMap { try? $0.text("message") }?.hasPrefix(program) == true)
            }
        }
    }

    @Test("a code from a link is confirmed first, and a failure is shown by the program")
    func link() async throws {
        try await CeremonyEnvironment.run { environment in
            _ = try await Self.register(environment, "ada@example.com")
            let agree = #"{"opened-link":[{"agree":true}],\#(Self.pin),"account":[{"account":0}]}"#
            let user = try AskedUser(in: environment.folder, "agree", agree)
            let signed = try await Self.run(
                environment,
                try await environment.site("request-options"),
                user,
                link: true
            )
            signed.expectSuccess()
            try await user.untilEnded()
            #expect(try user.story().first == "opened-link")
            let question = try #require(try user.questions("opened-link").first)
            #expect(question["relay"] == .text(CeremonyEnvironment.host) && question["codeAge"] != nil)

            let (client, code) = try await environment.startClient(try await environment.site("request-options"))
            let decline = try AskedUser(in: environment.folder, "decline", "{}")
            let declined = try await Self.scan(environment, code, decline, link: true).ending()
            declined.expect(77, "you declined; nothing was sent")
            try await decline.untilEnded()
            #expect(try decline.story() == ["opened-link", "declined"])
            client.send(SIGINT)
            _ = try await client.ending()

            let damaged = try AskedUser(in: environment.folder, "damaged", agree)
            let failed = try await Self.scan(environment, "fido:/hello", damaged, link: true).ending()
            #expect(failed.status == 65, "\(failed)")
            try await damaged.untilEnded()
            let end = try #require(try damaged.lines().first { $0["end"] != nil })
            #expect(end["end"] == "failed" && end["code"] != nil && end["remedy"] != nil)
            #expect(try end.text("message").contains("damaged"))
            #expect(environment.pinentryLog.isEmpty)
        }
    }
}
