// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridDBus
import HybridSession
import HybridThreads
import HybridVirtualBlueZ
import TestSupport
import Testing

@testable import HybridAuth
@testable import HybridPhoneLinks

@Suite("The question about a wake-up", .timeLimit(.minutes(5)))
struct WakeUpPromptTests {
    /// A session that is locked or not, and how often that was read.
    private struct Session: Sendable {
        let state: Locked<(isLocked: Bool, readings: Int)>

        init(isLocked: Bool) { state = Locked((isLocked, 0)) }

        func read() -> Bool {
            state.withLock {
                $0.readings += 1
                return $0.isLocked
            }
        }

        func untilRead(after count: Int = 1) async throws {
            try await Waiting.until("the lock") { state.withLock { $0.readings } > count }
        }

        func unlock() { state.withLock { $0.isLocked = false } }
    }

    private static func question(
        _ requester: Requester = .program,
        within limit: Duration = .seconds(60)
    ) -> WakeUpQuestion {
        WakeUpQuestion(label: "laptop", hint: .getAssertion, requester: requester, limit: limit)
    }

    /// Runs `body` with a notification server whose user chooses the first action, and the texts that it has shown.
    private static func notifying(_ body: ([String: String], Locked<[String]>) async throws -> Void) async throws {
        try await PrivateBus.run { bus in
            let name = "org.freedesktop.Notifications"
            let texts = Locked<[String]>([])
            let own = Locked<BusConnection?>(nil)
            let server = try await BusConnection.connect(to: bus.busAddress) { call in
                if call.member == "GetCapabilities" { return .values([.strings(["actions"])]) }
                guard call.member == "Notify", call.body.count == 8 else { return .unknownMethod }
                texts.withLock { $0.append(call.body[4].text ?? "") }
                if case .array(_, let actions) = call.body[5], let first = actions.first {
                    let connection = own.withLock { $0 }
                    let token: [BusValue] = [.uint32(7), .string("token-\(texts.withLock { $0.count })")]
                    connection?.emit("/org/freedesktop/Notifications", name, "ActivationToken", token)
                    connection?.emit("/org/freedesktop/Notifications", name, "ActionInvoked", [.uint32(7), first])
                }
                return .values([.uint32(7)])
            }
            own.withLock { $0 = server }
            let isOwner = try await server.requestName(name)
            #expect(isOwner)
            try await body(["DBUS_SESSION_BUS_ADDRESS": bus.address], texts)
            own.withLock { $0 = nil }
            await server.close()
        }
    }

    @Test("No window opens while the session is locked, and the question follows the unlock")
    func window() async throws {
        try await ScanFixture.with { fixture in
            let session = Session(isLocked: true)
            let program = try await fixture.pinentry(confirming: "OK")
            let prompt = WakeUpPrompt(pinentry: program, environment: [:], isLocked: session.read)
            let late = await prompt.ask(Self.question(within: .milliseconds(500)))
            #expect(late == .unanswered)
            await prompt.show("summary", "text")
            let asking = Task { await prompt.ask(Self.question()) }
            try await session.untilRead()
            #expect(!fixture.exists("pinentry.log"))
            session.unlock()
            #expect(await asking.value == .approved)
            let text = fixture.text("pinentry.log")
            #expect(text.contains("CONFIRM") && !text.contains("summary"))
        }
    }

    @Test(
        "A program asks in place of pinentry",
        arguments: [(#""agree":true"#, WakeUpAnswer.approved), (#""decline":true"#, .declined)]
    )
    func program(answer: String, expected: WakeUpAnswer) async throws {
        try await TestFolder.with { folder in
            let script = """
                #!/bin/sh
                echo '{"ready":1}'
                while read -r line; do
                  printf '%s\\n' "$line" >> '\(folder.path)/log'
                  case "$line" in *ask*) echo '{"answer":1,\(answer)}' ;; esac
                done
                """
            try await TestFile.writeProgram(script, to: folder.path + "/ask")
            let program = folder.path + "/ask"
            let prompt = WakeUpPrompt(pinentry: "/nonexistent", askProgram: program, environment: [:]) { false }
            #expect(await prompt.ask(Self.question()) == expected)
            await prompt.show("Not answered", "the relay failed")
            func log() -> String { TestFile.text(folder.path + "/log") }
            // Two processes, each of which writes on its own.
            try await Waiting.until("both ends") {
                log().contains("Not answered: the relay failed") && log().contains(#"{"end":"done"}"#)
            }
            #expect(log().contains(#""kind":"question""#) && log().contains(#""agree":"Sign in""#))
            #expect(log().contains("laptop"))
        }
    }

    @Test("A tap on the lock screen counts once the session is unlocked")
    func tap() async throws {
        try await Self.notifying { environment, texts in
            let session = Session(isLocked: true)
            let prompt = WakeUpPrompt(pinentry: "/nonexistent", environment: environment, isLocked: session.read)
            #expect(await prompt.ask(Self.question(within: .seconds(3))) == .unanswered)
            let before = session.state.withLock { $0.readings }
            let asking = Task { await prompt.ask(Self.question()) }
            try await session.untilRead(after: before)
            session.unlock()
            #expect(await asking.value == .approved)
            #expect(texts.withLock { $0.count } == 2)
        }
    }

    @Test("The notification names a request of a guest")
    func guests() async throws {
        try await Self.notifying { environment, texts in
            let prompt = WakeUpPrompt(pinentry: "/nonexistent", environment: environment) { false }
            for requester in [Requester.program, .guest] {
                #expect(await prompt.ask(Self.question(requester)) == .approved)
            }
            let shown = texts.withLock { $0 }
            #expect(prompt.takeActivation() == ["XDG_ACTIVATION_TOKEN": "token-2"])
            #expect(prompt.takeActivation() == [:], "a token is used once")
            let guest = "for a website, a sandboxed program or another host."
            #expect(shown.first?.contains("laptop") == true && shown.first?.contains("website") == false)
            #expect(shown.last?.hasSuffix(guest) == true)
        }
    }
}
