// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridCTAP
import HybridCommandSupport
import HybridSecurityKey
import HybridThreads
import SSHTestSupport
import TestSupport
import Testing

@testable import HybridKeyService

/// A security key whose helper, client, phone and prompt are programs of the test.
private final class ServedKey: Sendable {
    private static let folder = PackageFolder.path + "/Tests/Computer/KeyServiceTests"
    let folder: TestFolder
    let state: StateFolder
    /// Sentences that the server has reported.
    let reports = Locked<[String]>([])
    /// The time for which the computer has slept.
    let slept = Locked(Duration.zero)
    private let server: SecurityKeyServer
    private let hasEnded = Locked(false)

    /// Starts a key.
    ///
    /// - Parameters:
    ///   - folder: The folder of the test.
    ///   - hasPrompt: False to show codes on a page.
    ///   - otherKeyExists: True if another FIDO device is plugged in.
    ///   - isLocked: True if the session is locked.
    ///   - seconds: The time limit for each action of the user.
    ///   - users: The trusted users.
    init(
        _ folder: TestFolder,
        hasPrompt: Bool = true,
        otherKeyExists: Bool = false,
        isLocked: Bool = false,
        seconds: Int = 30,
        trusting users: Set<uid_t> = [geteuid()]
    ) async throws {
        self.folder = folder
        state = try StateFolder(path: folder.path + "/state")
        let prompt = folder.path + "/prompt"
        try await TestFile.writeProgram(Self.prompt(folder.path), to: prompt)
        let display = hasPrompt ? CeremonyDisplay.prompt(path: prompt) : .page
        let command = [try Python.path(), Self.folder + "/key_phone.py", folder.path]
        let (start, slept, reports) = (ContinuousClock.now, slept, reports)
        server = try SecurityKeyServer(
            helper: DeviceHelper(path: folder.path + "/helper/socket", trustedUsers: { users }),
            retry: SecurityKeyServer.Retry(first: .milliseconds(20), last: .seconds(1)),
            state: SecurityKeyState(in: state, otherKeyExists: { otherKeyExists }) { sentence in
                reports.withLock { $0.append(sentence) }
            },
            clock: SleepClock(
                now: { start.duration(to: .now) + slept.withLock { $0 } },
                awake: { start.duration(to: .now) }
            ),
            launcher: CeremonyLauncher(program: command, isLocked: { isLocked }, display: { display }),
            version: CTAPHIDDeviceVersion(major: 1, minor: 0, build: 0),
            seconds: seconds
        ) { sentence in reports.withLock { $0.append(sentence) } }
        let (server, hasEnded) = (server, hasEnded)
        try #require(
            DedicatedThread.start {
                server.serve()
                hasEnded.withLock { $0 = true }
            }
        )
    }

    static func with(
        hasPrompt: Bool = true,
        otherKeyExists: Bool = false,
        isLocked: Bool = false,
        seconds: Int = 30,
        _ body: (ServedKey) async throws -> Void
    ) async throws {
        try await TestFolder.with { folder in
            let key = try await ServedKey(
                folder,
                hasPrompt: hasPrompt,
                otherKeyExists: otherKeyExists,
                isLocked: isLocked,
                seconds: seconds
            )
            defer { key.stop() }
            try await body(key)
        }
    }

    func stop() { server.stop() }

    /// Stops the key, and waits until it takes no connection that another key expects.
    func end() async throws {
        stop()
        try await Waiting.until("the end of the key") { hasEnded.withLock { $0 } }
    }

    /// Returns a prompt that accepts every offer and keeps a failure until the file `close` exists, or the folder is gone.
    private static func prompt(_ folder: String) -> String {
        """
        #!/bin/sh
        trap 'echo ended >>\(folder)/prompts; exit' TERM
        echo started >>\(folder)/prompts
        while read -r line; do
            echo "$line" >>\(folder)/seen
            case "$line" in
            *use-phone*) [ -e \(folder)/ignore ] || { [ -e \(folder)/refuse ] && echo cancel || echo proceed; } ;;
            *'"error"'*)
                touch \(folder)/failed
                while [ -e \(folder)/failed ] && ! [ -e \(folder)/close ]; do sleep 0.02; done
                exit ;;
            esac
        done
        echo ended >>\(folder)/prompts
        """
    }

    /// Starts the helper with a client.
    func start(_ scenario: String, _ argument: String = "example.com") throws -> RunningProgram {
        let socket = folder.path + "/helper/socket"
        try? FileManager.default.createDirectory(atPath: folder.path + "/helper", withIntermediateDirectories: true)
        unlink(socket)
        return try RunningProgram(
            try Python.path(),
            [Self.folder + "/key_client.py", socket, scenario, argument],
            in: folder.path
        )
    }

    /// Runs a scenario to its end and returns its output.
    @discardableResult
    func run(
        _ scenario: String,
        _ argument: String = "example.com",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let ending = try await start(scenario, argument).ending()
        #expect(ending.status == 0, "\(ending)", sourceLocation: sourceLocation)
        return ending.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func has(_ name: String) -> Bool { access(folder.path + "/" + name, F_OK) == 0 }
    func lines(_ name: String) -> [String] {
        TestFile.text(folder.path + "/" + name).split(separator: "\n").map(String.init)
    }

    /// Waits until the journal has entries with these results.
    func expectJournal(_ results: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await Waiting.until("the journal") { try Journal(in: state).entries().count >= results.count }
        let entries = try Journal(in: state).entries()
        #expect(entries.map(\.result) == results, sourceLocation: sourceLocation)
        #expect(entries.allSatisfy { $0.door == .securityKey }, sourceLocation: sourceLocation)
    }
}

@Suite("The security key as a service", .timeLimit(.minutes(5)))
struct SecurityKeyServerTests {
    @Test("A program registers and signs in with the phone; the journal has both")
    func registerAndSignIn() async throws {
        try await ServedKey.with { key in
            try await key.run("register_and_sign_in")
            #expect(key.lines("purposes") == ["create a passkey for example.com", "sign in to example.com"])
            try await key.expectJournal(["created", "signed"])
            #expect(key.lines("seen").first?.contains(#""operation":"create","rp_id":"example.com""#) == true)
            #expect(!TestFile.text(key.folder.path + "/seen").contains("use-phone"))
        }
    }

    @Test("A client's cancellation ends ceremony and prompt")
    func cancel() async throws {
        try await ServedKey.with { key in
            try await key.run("cancel", key.folder.path)
            try await Waiting.until("the ceremony to end") { key.has("ended") }
            try await Waiting.until("the prompt to end") { key.lines("prompts") == ["started", "ended"] }
            try await key.expectJournal(["cancelled"])
        }
    }

    @Test("The end of the helper ends ceremony and prompt, and the next helper finds the key again")
    func helperDies() async throws {
        try await ServedKey.with { key in
            try await key.run("leave", key.folder.path)
            try await Waiting.until("the ceremony to end") { key.has("ended") }
            try await Waiting.until("the prompt to end") { key.lines("prompts") == ["started", "ended"] }
            try await key.run("info")
        }
    }

    @Test("A request that was declined on the phone times out for the client at once; the prompt shows the reason")
    func decline() async throws {
        try await ServedKey.with { key in
            try await key.run("refused", "declined.example")
            try await Waiting.until("the prompt to show the reason") { key.has("failed") }
            try await key.expectJournal(["declined"])
            try TestFile.write("", to: key.folder.path + "/close")
        }
    }

    @Test("A ceremony that fails is answered after the user has read the reason")
    func failure() async throws {
        try await ServedKey.with { key in
            let client = try key.start("refused", "broken.example")
            try await Waiting.until("the prompt to show the reason") { key.has("failed") }
            #expect(client.output.isEmpty)
            try TestFile.write("", to: key.folder.path + "/close")
            let ending = try await client.ending()
            #expect(ending.status == 0, "\(ending)")
            try await key.expectJournal(["failed: there is no relay for broken.example (no-relay)"])
            let line = "refused a request to the security key: there is no relay for this request (no-relay)"
            #expect(
                key.reports.withLock { $0 }.filter { $0.hasPrefix("refused") } == [line],
                "the website is not named"
            )
        }
    }

    @Test("A passkey that exists already is reported after the user has read it")
    func excluded() async throws {
        try await ServedKey.with { key in
            let client = try key.start("exclude")
            try await Waiting.until("the prompt to show the reason") { key.has("failed") }
            try TestFile.write("", to: key.folder.path + "/close")
            let ending = try await client.ending()
            #expect(ending.status == 0, "\(ending)")
            try await key.expectJournal(["created", "failed: already registered"])
        }
    }

    @Test("Without a prompt, a failure is answered at once")
    func page() async throws {
        try await ServedKey.with(hasPrompt: false) { key in
            try await key.run("refused", "broken.example")
            try await key.run("register_and_sign_in")
        }
    }

    @Test("The user selects the key")
    func selection() async throws {
        try await ServedKey.with { key in
            try await key.run("select")
            #expect(key.lines("seen").first?.contains(#""operation":"select""#) == true)
            try await Waiting.until("the prompt to end") { key.lines("prompts") == ["started", "ended"] }
            #expect(try Journal(in: key.state).entries().isEmpty, "nothing was signed")
        }
    }

    @Test("With another key, the phone is used after the user has agreed only")
    func otherKey() async throws {
        try await ServedKey.with(otherKeyExists: true) { key in
            try await key.run("register_and_sign_in")
            #expect(key.lines("seen").filter { $0.contains("use-phone") }.count == 2)
            try TestFile.write("", to: key.folder.path + "/refuse")
            try await key.run("closed")
            #expect(key.lines("purposes").count == 2, "no ceremony")
            try await key.expectJournal(["created", "signed", "cancelled"])
        }
    }

    @Test(
        "For a website, a linked phone waits for the user; for a passkey of ssh or sudo that was used before, it does not"
    )
    func consent() async throws {
        try await ServedKey.with { key in
            try await key.run("register_and_sign_in")
            #expect(key.lines("consents") == ["needed", "needed"])
            for relyingParty in ["ssh:", "pam://host"] {
                try await key.run("register_and_sign_in", relyingParty)
                #expect(key.lines("consents").suffix(2) == ["needed", "not needed"])
            }
        }
        // The user has agreed in the window already.
        try await ServedKey.with(otherKeyExists: true) { key in
            try await key.run("register_and_sign_in")
            #expect(key.lines("consents") == ["not needed", "not needed"])
        }
    }

    @Test(
        "A question that the user does not answer in time ends the request, and the key is free",
        arguments: [true, false]
    )
    func unanswered(hasPrompt: Bool) async throws {
        try await ServedKey.with(hasPrompt: hasPrompt, otherKeyExists: true, seconds: 1) { key in
            try TestFile.write("", to: key.folder.path + "/ignore")
            try await key.run("refused")
            try await key.run("not_selected")
            #expect(!key.has("purposes"), "no ceremony")
            try await key.expectJournal(["failed: \(CTAPStatus.userActionTimeout.meaning)"])
        }
    }

    @Test("While the session is locked, no user is asked, and the log has one clear line")
    func locked() async throws {
        try await ServedKey.with(isLocked: true) { key in
            try await key.run("refused")
            try await key.run("not_selected")
            #expect(!key.has("prompts") && !key.has("purposes"))
            try await key.expectJournal(["failed: the session is locked"])
            let line =
                "the session is locked, so neither a window nor a phone was used; unlock the screen and try again"
            // Others are about the helper, which ends with each client.
            let lines = key.reports.withLock { $0.filter { $0.hasPrefix("refused") } }
            #expect(lines == Array(repeating: "refused a request to the security key: \(line)", count: 2))
        }
    }

    @Test("Sleep ends a request")
    func sleep() async throws {
        try await ServedKey.with { key in
            let client = try key.start("refused", "wait.example")
            try await Waiting.until("the ceremony to begin") { key.has("waiting") }
            key.slept.withLock { $0 = .seconds(60) }
            let ending = try await client.ending()
            #expect(ending.status == 0, "\(ending)")
            try await Waiting.until("the ceremony to end") { key.has("ended") }
        }
    }

    @Test("Passkeys of local services are remembered after a restart, and forgotten on demand")
    func memory() async throws {
        try await TestFolder.with { folder in
            let first = try await ServedKey(folder)
            let id = try await first.run("register_and_sign_in", "ssh:")
            try await first.end()
            let store = CredentialMemoryStore(in: first.state)
            #expect(try store.memory().count == 1)
            let second = try await ServedKey(folder, otherKeyExists: true)
            defer { second.stop() }
            try await second.run("probe", id)
            try store.forget()
            let ending = try await second.start("probe", id).ending()
            #expect(ending.status != 0, "the running key has forgotten it, too")
        }
    }

    @Test("Keys of the agent are not usable through this door, also those that are added later")
    func agentKeys() async throws {
        try await ServedKey.with { key in
            try await key.run("info")
            try SSHKeyStore(in: key.state).add([try storedKey(try TestPasskey("ssh-abc.invalid"))])
            try await key.run("unknown", "ssh-abc.invalid")
            #expect(!key.has("prompts"), "the user is not asked")
        }
    }

    @Test("Packets of another length end the connection", arguments: ["short", "long"])
    func packets(_ scenario: String) async throws {
        try await ServedKey.with { key in
            try await key.run(scenario)
            try await key.run("info")
        }
    }

    @Test("A helper of another user is not used")
    func untrusted() async throws {
        try await TestFolder.with { folder in
            let key = try await ServedKey(folder, trusting: [geteuid() + 1])
            defer { key.stop() }
            let helper = try key.start("info")
            try await Waiting.until("the report") {
                key.reports.withLock { $0.contains { $0.contains("user \(geteuid())") } }
            }
            #expect(try await helper.ending().status != 0)
        }
    }
}
