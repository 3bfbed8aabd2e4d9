// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import HybridPinentry

@Suite("Programs that misbehave")
struct BadProgramTests {
    @Test("A missing program is named")
    func missing() {
        #expect(throws: PinentryError.notFound("/nowhere/pinentry")) { try Pinentry(program: "/nowhere/pinentry") }
        #expect(throws: PinentryError.notFound("no-such-pinentry")) { try Pinentry(program: "no-such-pinentry") }
        #expect(throws: PinentryError.cannotRun("/tmp")) { try Pinentry(program: "/tmp") }
        #expect(throws: PinentryError.cannotRun("/etc/passwd")) { try Pinentry(program: "/etc/passwd") }
        #expect(throws: PinentryError.notFound("pinentry, pinentry-curses, pinentry-tty")) {
            try Pinentry(program: nil, environment: ["PATH": "/nowhere::/tmp"], limits: .init())
        }
    }

    @Test("A name without a slash comes from PATH, the first that is there")
    func path() async throws {
        let script = try await ScriptedPinentry("X) ;;")
        let environment = ["PATH": "/nowhere:\(script.root):/usr/bin"]
        #expect(try Pinentry(program: nil, environment: environment, limits: .init()).program == script.path)
        #expect(try Pinentry(program: "pinentry", environment: environment, limits: .init()).program == script.path)
    }

    @Test(
        "Programs that end before they greet did not start",
        arguments: ["exit 1", "exit 0", "kill -9 $$", "echo 'ERR 83886085 no display'; exit 1"]
    )
    func ended(script: String) async throws {
        let program = try await ScriptedPinentry(whole: script)
        await #expect(throws: PinentryError.didNotStart(program.path)) { try await program.pin() }
        #expect(!program.isAlive)
    }

    @Test("A program that never greets did not start")
    func noGreeting() async throws {
        let program = try await ScriptedPinentry(whole: "exec sleep 600")
        await #expect(throws: PinentryError.didNotStart(program.path)) {
            try await program.pin(limits: .init(greeting: .milliseconds(300)))
        }
        #expect(!program.isAlive)
    }

    @Test("A file that can't be executed did not start")
    func notExecutable() async throws {
        let program = try await ScriptedPinentry(whole: "")
        try await ScriptedPinentry.write(program.path, "\u{7F}ELF nonsense")
        await #expect(throws: PinentryError.didNotStart(program.path)) { try await program.pin() }
    }

    @Test(
        "A program that crashes in the middle is gone",
        arguments: ["exit 3", "kill -9 $$", "exec 1>&- 0<&-; exit 0"]
    )
    func crash(how: String) async throws {
        let program = try await ScriptedPinentry("GETPIN) \(how) ;;")
        await #expect(throws: PinentryError.gone) { try await program.pin() }
        #expect(!program.isAlive)
    }

    @Test("A program that a signal asked to end was taken down", arguments: ["INT", "HUP", "TERM"])
    func told(signal: String) async throws {
        let program = try await ScriptedPinentry("GETPIN) kill -\(signal) $$ ;;")
        await #expect(throws: PinentryError.takenDown) { try await program.pin() }
        #expect(!program.isAlive)
    }

    @Test("A program that answers half a line and ends is gone, not believed")
    func halfLine() async throws {
        let program = try await ScriptedPinentry("GETPIN) printf 'D 1234\\nO'; exit 0 ;;")
        await #expect(throws: PinentryError.gone) { try await program.pin() }
    }

    @Test("A program that hangs is ended when the time is over")
    func hangs() async throws {
        let program = try await ScriptedPinentry("GETPIN) exec sleep 60 ;;")
        await #expect(throws: PinentryError.timedOut) {
            try await program.pin(
                timeout: .milliseconds(200),
                limits: .init(greeting: .seconds(60), reply: .seconds(60), grace: .milliseconds(100))
            )
        }
        #expect(!program.isAlive)
    }

    @Test("A program that hangs at a setting is ended too")
    func hangsAtSetting() async throws {
        let program = try await ScriptedPinentry("SETDESC*) exec sleep 60 ;;")
        await #expect(throws: PinentryError.timedOut) {
            try await program.pin(limits: .init(greeting: .seconds(60), reply: .milliseconds(500)))
        }
        #expect(!program.isAlive)
    }

    @Test("A program that won't hear SIGTERM is killed")
    func stubborn() async throws {
        let program = try await ScriptedPinentry(
            whole: "trap '' TERM\necho OK\nwhile :; do read -r x; sleep 0.01; done"
        )
        await #expect(throws: PinentryError.timedOut) {
            try await program.pin(limits: .init(greeting: .seconds(60), reply: .milliseconds(300)))
        }
        #expect(!program.isAlive)
    }

    @Test("A cancelled task takes the prompt down and leaves no process")
    func cancelled() async throws {
        let program = try await ScriptedPinentry("GETPIN) exec sleep 600 ;;")
        let start = ContinuousClock.now
        let failure = await withTaskGroup(of: PinentryError?.self) { group in
            group.addTask { await program.pinFailure(timeout: .seconds(600)) }
            try? await until { program.log.contains("GETPIN") }
            group.cancelAll()
            return await group.next() ?? nil
        }
        #expect(failure == .takenDown)
        #expect(!program.isAlive)
        #expect(ContinuousClock.now - start < .seconds(300))
    }

    @Test("A task that was cancelled before asks nothing")
    func cancelledBefore() async throws {
        let program = try await ScriptedPinentry("GETPIN) echo 'D 1'; echo OK ;;")
        let failure = await withTaskGroup(of: PinentryError?.self) { group in
            group.cancelAll()
            group.addTask { await program.pinFailure(timeout: .seconds(20)) }
            return await group.next() ?? nil
        }
        #expect(failure == .takenDown)
        #expect(!program.log.contains("GETPIN"))
        #expect(!program.isAlive)
    }

    @Test(
        "Programs that flood are nonsense",
        arguments: [
            "while :; do echo 'S MORE'; done", "while :; do echo '# more'; done", "while :; do echo 'D 12345678'; done",
            "while :; do printf xxxxxxxxxxxxxxxxxxxxxxxx; done", "head -c 5000 /dev/zero; echo OK",
            "while :; do echo; done",
        ]
    )
    func floods(how: String) async throws {
        let program = try await ScriptedPinentry("GETPIN) \(how) ;;")
        await #expect(throws: PinentryError.spokeNonsense) { try await program.pin() }
        #expect(!program.isAlive)
    }

    @Test("A program that floods instead of greeting is nonsense")
    func floodsAtOnce() async throws {
        let program = try await ScriptedPinentry(whole: "yes")
        await #expect(throws: PinentryError.spokeNonsense) { try await program.pin() }
        #expect(!program.isAlive)
    }

    @Test("A program that does not end after BYE is ended")
    func lingers() async throws {
        let program = try await ScriptedPinentry("GETPIN) echo 'D 1'; echo OK ;; BYE) exec sleep 60 ;;")
        #expect(try await program.pin().text == "1")
        #expect(!program.isAlive)
    }

    @Test("The program has its three descriptors and none of ours")
    func descriptors() async throws {
        // One that a child inherits if nobody closes it there.
        let ours = open("/dev/zero", O_RDONLY)
        try #require(ours > 2)
        defer { close(ours) }
        // `ls` reads the folder by number 3.
        let list =
            "echo \"D $(ls /proc/self/fd | tr '\\n' ' ')\"; for f in 0 1 2; do echo \"D $(readlink /proc/$$/fd/$f) \"; done"
        let program = try await ScriptedPinentry("GETPIN) \(list); echo OK ;;")
        let words = try await program.pin().text.split(separator: " ").map(String.init)
        let talk = try #require(words.first { $0.hasPrefix("socket:") })
        #expect(words == ["0", "1", "2", "3", talk, talk, "/dev/null"])
    }

    @Test("Every sentence is one line")
    func sentences() {
        let errors: [PinentryError] = [
            .notFound("x"), .cannotRun("x"), .didNotStart("x"), .spokeNonsense, .couldNotAsk(code: 1), .textTooLong,
            .cancelled, .timedOut, .tooManyTries, .gone, .takenDown,
        ]
        #expect(Set(errors.map(\.sentence)).count == errors.count)
        for error in errors { #expect(!error.sentence.isEmpty && !error.sentence.contains("\n")) }
    }
}
