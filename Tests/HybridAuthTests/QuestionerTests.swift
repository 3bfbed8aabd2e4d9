// SPDX-License-Identifier: Apache-2.0

import HybridAsk
import HybridAuthenticator
import HybridCTAP
import HybridCaBLE
import HybridPinentry
import HybridPrimitives
import HybridProgram
import HybridSSHAgent
import HybridSession
import HybridThreads
import TestSupport
import Testing

@testable import HybridAuth

@Suite("What asks the user", .timeLimit(.minutes(5)))
struct QuestionerTests {
    @Test("A setting names the program; without one, an installed program asks in a graphical session")
    func path() throws {
        let display = ["DISPLAY": ":0"]
        func path(_ setting: String?, _ environment: [String: String], _ standard: String = "/bin/sh") -> String? {
            AskProgram.path(setting, environment, standardPath: standard)
        }
        #expect(path("/opt/ask", [:]) == "/opt/ask")
        #expect(path("", display) == nil, "an empty text is the choice of pinentry")
        #expect(path(nil, display) == "/bin/sh")
        #expect(path(nil, ["WAYLAND_DISPLAY": "wayland-0"]) == "/bin/sh")
        #expect(path(nil, [:]) == nil && path(nil, ["DISPLAY": ""]) == nil, "no graphical session")
        #expect(path(nil, display, "/nonexistent") == nil)
        #expect(path(nil, display, "/etc/passwd") == nil, "not executable")
    }

    @Test("The setting may be empty in the environment and in the file", arguments: ["", "/opt/ask"])
    func setting(text: String) async throws {
        try await ScanFixture.with { fixture in
            let variable = try await fixture.run(["check-config", "--json"], ["HYBRID_ASK": text])
            #expect(variable.status == 0 && variable.output.contains("\"/opt/ask\"") == !text.isEmpty, "\(variable)")
            let folder = try TestFolder()
            try folder.write("HYBRID_ASK=\(text)\n", to: "hybrid/auth.env")
            let file = try await fixture.run(["check-config", "--json"], ["XDG_CONFIG_HOME": folder.path])
            #expect(file.status == 0 && file.output.contains("\"/opt/ask\"") == !text.isEmpty, "\(file)")
            try folder.remove()
        }
    }

    /// A questioner whose program is a shell script, and the notices that it has given.
    private static func with(
        _ script: String,
        _ body: (Questioner, TestFolder, Locked<[String]>) async throws -> Void
    ) async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/ask"
            try await TestFile.writeProgram("#!/bin/sh\ncd '\(folder.path)'\necho start >> log\n\(script)\n", to: path)
            let notices = Locked<[String]>([])
            let questioner = try Questioner(
                program: path,
                pinentry: { () throws(PinentryError) in try Pinentry(program: "/bin/true") },
                notify: { name, _ in notices.withLock { $0.append(name) } }
            )
            try await body(questioner, folder, notices)
        }
    }

    private static let ready = #"echo '{"ready":1}'; while read -r line; do printf '%s\n' "$line" >> log; done"#

    @Test("One program serves all questions of a run, and another one those after its end")
    func life() async throws {
        try await Self.with(Self.ready) { questioner, folder, notices in
            func log() -> [Substring] { TestFile.text(folder.path + "/log").split(separator: "\n") }
            questioner.show(.state("asked"))
            #expect(!questioner.finish(.done), "no program runs yet")
            questioner.start()
            let first = try #require(await questioner.program)
            #expect(await questioner.program === first)
            questioner.show(.state("answered"))
            #expect(questioner.finish(.done))
            let second = try #require(await questioner.program)
            #expect(second !== first)
            questioner.finish(.done)
            try await Waiting.until("both ends") { log().count { $0.contains("end") } == 2 }
            #expect(log().count { $0 == "start" } == 2)
            #expect(log().contains(#"{"state":"answered"}"#) && !log().contains(#"{"state":"asked"}"#))
            #expect(notices.withLock { $0 } == [])
        }
    }

    @Test("A program that is not ready is given up once", arguments: ["exit 1", "echo nonsense"])
    func notReady(script: String) async throws {
        try await Self.with(script) { questioner, folder, notices in
            #expect(await questioner.program == nil)
            #expect(await questioner.program == nil)
            #expect(notices.withLock { $0 } == [Questioner.noProgram])
            #expect(TestFile.text(folder.path + "/log") == "start\n")
            let pinentry = try questioner.pinentry()
            #expect(pinentry.program == "/bin/true")
        }
    }

    @Test("Without a program, pinentry must be there; with one, only when it is needed")
    func pinentry() async throws {
        func questioner(_ program: String?) throws(PinentryError) -> Questioner {
            try Questioner(
                program: program,
                pinentry: { () throws(PinentryError) in throw .notFound("x") },
                notify: { _, _ in }
            )
        }
        #expect(throws: PinentryError.notFound("x")) { try questioner(nil) }
        let other = try questioner("/nonexistent")
        #expect(await other.program == nil)
        #expect(throws: PinentryError.notFound("x")) { try other.pinentry() }
    }

    @Test("The end of a failure is shown, unless the user has caused or seen it")
    func endings() {
        func line(_ ending: AskEnding) -> String { "\(ending)" }
        let failure = CommandFailure("it failed; try again", code: "x", status: .temporary)
        #expect(line(.after(failure)).contains("failed") && line(.after(failure)).contains("try again"))
        #expect(line(.after(failure, isKnown: true)).contains("declined"))
        #expect(line(.after(CommandFailure("interrupted", status: .interrupted))).contains("declined"))
    }
}

@Suite("Members of questions")
struct AskMembersTests {
    private func text(_ members: [AskMembers.Member]) -> String { JSONText.object(members).description }

    private func relyingParty(_ text: String) throws -> RelyingPartyID {
        try #require(RelyingPartyID(text, accepting: Set(RelyingPartyID.Kind.allCases)))
    }

    @Test("A relying party has its kind, and a local one its names")
    func sites() throws {
        let expected: [(String, String)] = [
            ("example.com", #"{"rpId":"example.com","site":"domain"}"#),
            ("ssh:", #"{"rpId":"ssh:","site":"ssh"}"#),
            ("ssh:work", #"{"rpId":"ssh:work","site":"ssh","local":"work"}"#),
            ("pam://desk", #"{"rpId":"pam://desk","site":"pam","local":"desk"}"#),
            ("pam://desk/sudo", #"{"rpId":"pam://desk/sudo","site":"pam","local":"desk","service":"sudo"}"#),
        ]
        for (id, json) in expected {
            let site = try relyingParty(id)
            #expect(text(AskMembers.site(site)) == json)
        }
    }

    @Test("A request has its operation and circumstances")
    func request() throws {
        let site = try relyingParty("example.com")
        let plain = SignInContext(transport: ClientTransport(relay: "r.example"), age: 4, virtualRadio: false)
        #expect(
            text(AskMembers.request(.signIn(site), plain))
                == #"{"rpId":"example.com","site":"domain","operation":"sign-in","relay":"r.example","codeAge":4}"#
        )
        let transport = ClientTransport(relay: "r.example")
        transport.update(.clientVerified(over: .l2cap))
        let full = SignInContext(transport: transport, age: 121, virtualRadio: true, computer: "desk\n")
        let key = try relyingParty("ssh:")
        #expect(
            text(AskMembers.request(.create(key, for: .ssh, givingSecret: true), full))
                == #"{"rpId":"ssh:","site":"ssh","operation":"create","forSSH":true,"givesSecret":true,"bluetooth":true,"#
                + #""codeAge":121,"computer":"desk\n","warnings":["virtual-radio","old-code"]}"#
        )
    }

    @Test("Long names are shortened until the question fits a line")
    func longNames() throws {
        let name = String(repeating: "\u{E000}", count: 10_000)
        let id = try #require(UserHandle(bytes: [1]))
        let account = UserEntity(id: id, name: name, displayName: name)
        let accounts = Array(repeating: account, count: AskQuestion.maximumAccounts)
        let question = AskMembers.fitting { length in
            let list = accounts.map { AskMembers.account($0, isEncryptionKey: false, names: length) }
            return AskQuestion(.account, within: .seconds(1), [("accounts", .array(list))])
        }
        #expect(question.fits)
        #expect(AskMembers.cut("abc", 3) == "abc")
        #expect(AskMembers.cut("äbc", 3) == "äb\u{2026}")
    }

    @Test("Each purpose of a secret has its name and its sentence")
    func purposes() {
        let names = VaultPurpose.allCases.map(\.rawValue)
        #expect(Set(names).count == names.count && names.contains("import") && names.contains("change-pin"))
        #expect(Set(VaultPurpose.allCases.map(\.sentence)).count == names.count)
    }
}
