// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridDBus
import HybridVirtualBlueZ
import IntegrationTestSupport
import TestSupport
import Testing

/// Keys that are created with `--phone`, while hybrid-auth listens as a linked phone, and while the session is locked.
@Suite("Linked phones that the user has named", .keepsEvidence, SharedEnvironment(), .serialized)
struct LinkedPhoneTests {
    private static func creation(user: String) -> String {
        """
        {"publicKey": {"rp": {"id": "example.com", "name": "x"}, "challenge": "AAAAAAAAAAAAAAAAAAAAAA", \
        "user": {"id": "\(user)", "name": "ada", "displayName": "Ada"}, \
        "pubKeyCredParams": [{"type": "public-key", "alg": -7}]}}
        """
    }

    /// A shell command that reads the output of a program to its end before it answers the program's question.
    private static let reader = #"mkfifo "$0"; exec 3<>"$0"; "$@" <"$0" | { cat >"$0.response"; echo no >"$0"; }"#

    /// Links the phone in a sign-in with a new passkey; returns its name on the computer.
    private func linkedPhone() async throws -> String {
        let result = try await offeredLink()
        let linked = try result.client.events().first { $0["state"] == "linked" }
        return try #require(linked, "\(result)").text("phone")
    }

    /// Signs in with a new passkey on a phone that offers a link, which the user accepts.
    ///
    /// - Parameters:
    ///   - fifo: The path at which the user's refusal arrives after the response has been read to its end; `nil` to accept.
    ///   - user: The user whom a program asks whether to link; `nil` to name the computer on the command line.
    private func offeredLink(
        refusing fifo: String? = nil,
        asking user: AskedUser? = nil
    ) async throws -> CeremonyResult {
        let environment = try CeremonyEnvironment.shared()
        let made = try await environment.runCeremony(Self.creation(user: "AQ"))
        made.expectSuccess()
        let id = try JSONDecoder().decode(JSONValue.self, from: Data(made.client.lastOutput.utf8)).text("id")
        let request = environment.folder + "/link.json"
        let options = """
            {"publicKey": {"rpId": "example.com", "challenge": "AAAAAAAAAAAAAAAAAAAAAA", \
            "allowCredentials": [{"type": "public-key", "id": "\(id)"}]}}
            """
        try TestFile.write(options, to: request)
        let command =
            ["show-qr", "--request", request, "--origin", CeremonyEnvironment.origin, "--link", "--json"]
            + environment.network
        let client =
            if let fifo {
                try environment.start(
                    "/bin/sh",
                    ["-c", Self.reader, fifo, BuildFolder.program("hybrid-client")] + command
                )
            } else {
                try environment.start("hybrid-client", command, input: "yes\n")
            }
        let code = try await environment.code(of: client)
        let phone = try environment.startAuthenticator(
            code,
            extra: user?.flags ?? ["--link-as", "work laptop"],
            variables: user?.variables ?? [:]
        )
        return CeremonyResult(client: try await client.ending(), authenticator: try await phone.ending())
    }

    /// Starts `hybrid-auth listen`, and waits until the computer can wake it.
    private func listen(asking user: AskedUser? = nil) async throws -> RunningProgram {
        let environment = try CeremonyEnvironment.shared()
        let listener = try environment.start(
            "hybrid-auth",
            ["listen", "--vault", environment.vault, "--pinentry", TestUser.program(in: environment.folder)]
                + environment.network + (user?.flags ?? []),
            variables: TestUser().variables(in: environment.folder).merging(user?.variables ?? [:]) { $1 }
        )
        _ = try await listener.line { $0.contains("can wake this device") }
        return listener
    }

    /// Starts `hybrid-key ssh-keygen`, whose prompt writes the events of the ceremony to a file.
    private func keygen(_ phone: String) async throws -> (program: RunningProgram, events: String) {
        let environment = try CeremonyEnvironment.shared()
        let base = "\(environment.folder)/\(UUID().uuidString.prefix(8))"
        // Its standard output stays open: the end of the answers would end the ceremony.
        try await TestFile.writeProgram("#!/bin/sh\ncat >\(base).events\n", to: base + ".prompt")
        let program = try environment.start(
            "hybrid-key",
            ["ssh-keygen", "--comment", "work", "--phone", phone] + environment.network,
            variables: ["HYBRID_PROMPT": base + ".prompt"]
        )
        return (program, base + ".events")
    }

    @Test("The website gets the whole response before the user answers the question about a link")
    func responseFirst() async throws {
        let environment = try CeremonyEnvironment.shared()
        let fifo = "\(environment.folder)/\(UUID().uuidString.prefix(8))"
        let result = try await offeredLink(refusing: fifo)
        #expect(TestFile.text(fifo + ".response").contains("rawId"))
        let events = try result.client.events()
        #expect(events.count { $0["notice"] == "link-offer" } == 1, "\(result)")
        #expect(events.contains { $0["notice"] == "not-linked" }, "\(result)")
    }

    @Test("A program asks about the link, the wake-up and the request")
    func program() async throws {
        let environment = try CeremonyEnvironment.shared()
        let pin = #""pin":[{"pin":"\#(TestUser.rightPIN)"}]"#
        let script = #"{\#(pin),"link":[{"agree":true,"name":"desk at the window"}],"account":[{"account":0}]}"#
        let user = try AskedUser(in: environment.folder, "link", script)
        let result = try await offeredLink(asking: user)
        let linked = try #require(try result.client.events().first { $0["state"] == "linked" }, "\(result)")
        try await user.untilEnded()
        #expect(try user.story().first == "link")
        #expect(try user.questions("link").first?["relay"] == .text(CeremonyEnvironment.host))

        let answers = #"{\#(pin),"question":[{"agree":true}],"create":[{"agree":true}]}"#
        let waiting = try AskedUser(in: environment.folder, "listen", answers)
        let listener = try await listen(asking: waiting)
        let made = try await environment.showQR(
            Self.creation(user: "Aw"),
            extra: ["--json", "--phone", try linked.text("phone")]
        ).ending()
        #expect(made.status == 0, "\(made)")
        try await Waiting.until("the end of the request") { try waiting.story().last == "done" }
        let story = try waiting.story().filter { !["tunnel-open", "advertising", "connected"].contains($0) }
        #expect(story == ["question", "done", "asked", "pin", "create", "answered", "done"])
        let question = try waiting.questions("question").first?.text("text")
        #expect(question?.hasPrefix("The linked computer") == true)
        #expect(try waiting.questions("pin").first?.text("computer") == "desk at the window")
        listener.send(SIGTERM)
        _ = try await listener.ending()
    }

    @Test("The terminal names the phone that has created the key, even if it is not the one that was named")
    func creator() async throws {
        let environment = try CeremonyEnvironment.shared()
        let name = try await linkedPhone()
        let listener = try await listen()
        let passkey = try await environment.showQR(
            Self.creation(user: "Ag"),
            extra: ["--json", "--phone", name]
        ).ending()
        #expect(passkey.status == 0 && passkey.output.contains("rawId"), "\(passkey)")
        let event = try #require(try passkey.events().first { $0["notice"] == "passkey-created" }, "\(passkey)")
        #expect(event["phone"] == .text(name), "\(event)")
        let fingerprint = try event.text("fingerprint")
        #expect(fingerprint.wholeMatch(of: /SHA256:[A-Za-z0-9+\/]{43}/) != nil, "\(event)")
        let text = "the linked phone \"\(name)\" has created the passkey with the fingerprint \(fingerprint)"
        #expect(event["message"] == .text(text))

        let key = try await keygen(name).program.ending()
        #expect(key.status == 0, "\(key)")
        let words = "the linked phone \"\(name)\" has created the key with the fingerprint SHA256:"
        #expect(key.errors.contains(words), "\(key)")
        listener.send(SIGTERM)
        _ = try await listener.ending()

        let (program, events) = try await keygen(name)
        var code: String?
        try await Waiting.until("a code", evidence: program.errors) {
            let lines = TestFile.text(events).split(separator: "\n").dropLast()
            code = try JSONValue.lines(lines.joined(separator: "\n")).first { $0["event"] == "qr" }?.text("text")
            return code != nil
        }
        let scan = try await environment.startAuthenticator(try #require(code)).ending()
        let scanned = CeremonyResult(client: try await program.ending(), authenticator: scan)
        scanned.expectSuccess()
        let doubt = "a phone that scanned the code, perhaps not \"\(name)\", has created the key with the fingerprint"
        #expect(scanned.client.errors.contains(doubt), "\(scanned)")
        #expect(TestFile.text(events).contains(#""state":"contacting""#))
    }

    @Test("While the session is locked, no linked phone is contacted, and no window or page is opened")
    func locked() async throws {
        let environment = try CeremonyEnvironment.shared()
        let name = try await linkedPhone()
        let logind = try await BusConnection.connect(to: environment.radio.bus.busAddress) { _ in
            .values([.variant(.bool(true))])
        }
        let isOwner = try await logind.requestName("org.freedesktop.login1")
        #expect(isOwner)

        let (client, code) = try await environment.startClient(
            Self.creation(user: "Aw"),
            extra: ["--json", "--phone", name]
        )
        let phone = try environment.startAuthenticator(code)
        let result = CeremonyResult(client: try await client.ending(), authenticator: try await phone.ending())
        result.expectSuccess()
        let events = try result.client.events()
        #expect(events.contains { $0["notice"] == "session-locked" }, "\(result)")
        #expect(!events.contains { $0["state"] == "contacting" }, "\(result)")
        let created = try #require(events.first { $0["notice"] == "passkey-created" }, "\(result)")
        #expect(created["phone"] == nil, "\(created)")
        #expect(try created.text("message").hasPrefix("a phone that scanned the code, perhaps not \"\(name)\","))

        let page = try await environment.showQR(Self.creation(user: "BA"), extra: ["--json", "--open"]).ending()
        #expect(try page.status == 75 && page.events().last?["code"] == "session-locked", "\(page)")
        let (program, windows) = try await keygen(name)
        try await program.ending().expect(75, "the session is locked, so no window is opened; unlock the screen")
        #expect(!FileManager.default.fileExists(atPath: windows))
        try await keygenInTerminal(name)
        await logind.close()
    }

    /// Runs `hybrid-key ssh-keygen` in a terminal of the locked session until it shows the code.
    private func keygenInTerminal(_ phone: String) async throws {
        let environment = try CeremonyEnvironment.shared()
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        defer { close(master) }
        var (number, unlocked): (CInt, CInt) = (-1, 0)
        // TIOCSPTLCK and TIOCGPTN; Swift cannot import their macros.
        try #require(ioctl(master, 0x4004_5431, &unlocked) == 0 && ioctl(master, 0x8004_5430, &number) == 0)
        let program = try RunningProgram(
            "hybrid-key",
            ["ssh-keygen", "--comment", "work", "--phone", phone] + environment.network,
            in: environment.folder,
            environment: environment.variables(),
            errors: "/dev/pts/\(number)"
        )
        var shown: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        try await Waiting.until("the code in the terminal", evidence: String(decoding: shown, as: UTF8.self)) {
            let count = read(master, &chunk, chunk.count)
            if count > 0 { shown += chunk[..<count] }
            return String(decoding: shown, as: UTF8.self).contains("scan to create the ssh key")
        }
        let text = String(decoding: shown, as: UTF8.self)
        #expect(text.contains("the session is locked, so \"\(phone)\" is not contacted; scan the code"), "\(text)")
        #expect(!text.contains("contacting"), "\(text)")
        program.send(SIGINT)
        let ending = try await program.ending()
        #expect(ending.status == 130, "\(ending)")
    }
}
