// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import HybridPinentry

@Suite("Faulty programs")
struct BadProgramTests {
    @Test("A missing program is named in the error")
    func missing() {
        #expect(throws: PinentryError.notFound("/nowhere/pinentry")) { try Pinentry(program: "/nowhere/pinentry") }
        #expect(throws: PinentryError.notFound("no-such-pinentry")) { try Pinentry(program: "no-such-pinentry") }
        #expect(throws: PinentryError.cannotRun("/tmp")) { try Pinentry(program: "/tmp") }
        #expect(throws: PinentryError.cannotRun("/etc/passwd")) { try Pinentry(program: "/etc/passwd") }
        #expect(throws: PinentryError.notFound("pinentry, pinentry-curses, pinentry-tty")) {
            try Pinentry(nil, environment: ["PATH": "/nowhere::/tmp"], limits: .init())
        }
    }

    @Test("A name without a slash is looked up in PATH")
    func path() async throws {
        let script = try await ScriptedPinentry("X) ;;")
        let environment = ["PATH": "/nowhere:\(script.root):/usr/bin"]
        #expect(try Pinentry(nil, environment: environment, limits: .init()).program == script.path)
        #expect(try Pinentry("pinentry", environment: environment, limits: .init()).program == script.path)
    }

    @Test(
        "A program that exits before its greeting did not start",
        arguments: ["exit 1", "exit 0", "kill -9 $$", "echo 'ERR 83886085 no display'; exit 1"]
    )
    func ended(script: String) async throws {
        let program = try await ScriptedPinentry(whole: script)
        await #expect(throws: PinentryError.didNotStart(program.path)) { try await program.pin() }
        #expect(!program.isAlive)
    }

    @Test("A program without a greeting did not start")
    func noGreeting() async throws {
        let program = try await ScriptedPinentry(whole: "exec sleep 600")
        await #expect(throws: PinentryError.didNotStart(program.path)) {
            try await program.pin(limits: .init(greeting: .milliseconds(300)))
        }
        #expect(!program.isAlive)
    }

    @Test("A file that cannot be executed did not start")
    func notExecutable() async throws {
        let program = try await ScriptedPinentry(whole: "")
        try await ScriptedPinentry.write(program.path, "\u{7F}ELF nonsense")
        await #expect(throws: PinentryError.didNotStart(program.path)) { try await program.pin() }
    }

    @Test(
        "A program that crashes during a prompt is reported",
        arguments: ["exit 3", "kill -9 $$", "exec 1>&- 0<&-; exit 0"]
    )
    func crash(how: String) async throws {
        let program = try await ScriptedPinentry("GETPIN) \(how) ;;")
        await #expect(throws: PinentryError.exited) { try await program.pin() }
        #expect(!program.isAlive)
    }

    @Test("A program that a signal ended was interrupted", arguments: ["INT", "HUP", "TERM"])
    func told(signal: String) async throws {
        let program = try await ScriptedPinentry("GETPIN) kill -\(signal) $$ ;;")
        await #expect(throws: PinentryError.interrupted) { try await program.pin() }
        #expect(!program.isAlive)
    }

    @Test("Half a line before the exit is not an answer")
    func halfLine() async throws {
        let program = try await ScriptedPinentry("GETPIN) printf 'D 1234\\nO'; exit 0 ;;")
        await #expect(throws: PinentryError.exited) { try await program.pin() }
    }

    @Test("A program that hangs is ended after the time limit")
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

    @Test("A program that hangs at a setting is ended, too")
    func hangsAtSetting() async throws {
        let program = try await ScriptedPinentry("SETDESC*) exec sleep 60 ;;")
        await #expect(throws: PinentryError.timedOut) {
            try await program.pin(limits: .init(greeting: .seconds(60), reply: .milliseconds(500)))
        }
        #expect(!program.isAlive)
    }

    @Test("A program that ignores SIGTERM is killed")
    func stubborn() async throws {
        let program = try await ScriptedPinentry(
            whole: "trap '' TERM\necho OK\nwhile :; do read -r x; sleep 0.01; done"
        )
        await #expect(throws: PinentryError.timedOut) {
            try await program.pin(limits: .init(greeting: .seconds(60), reply: .milliseconds(300)))
        }
        #expect(!program.isAlive)
    }

    @Test("Cancelling the task ends the program")
    func cancelled() async throws {
        let program = try await ScriptedPinentry("GETPIN) exec sleep 600 ;;")
        let start = ContinuousClock.now
        let failure = await withTaskGroup(of: PinentryError?.self) { group in
            group.addTask { await program.pinFailure(timeout: .seconds(600)) }
            try? await Waiting.until("the prompt") { program.log.contains("GETPIN") }
            group.cancelAll()
            return await group.next() ?? nil
        }
        #expect(failure == .interrupted)
        #expect(!program.isAlive)
        #expect(ContinuousClock.now - start < .seconds(300))
    }

    @Test("A prompt that replaces a closed one is shown again if it is answered at once")
    func replacement() async throws {
        let answers = """
                GETPIN) : ;;
                CONFIRM*) echo 'OK' ;;
            """
        let script = try await ScriptedPinentry(answers)
        var limits = Pinentry.Limits.patient
        // Longer than a busy machine needs to answer at once.
        limits.replacement = .seconds(5)
        let client = try script.client(limits: limits)
        let closed = Task { try await client.getPIN(description: "a", prompt: "PIN:") }
        try await Waiting.until("the prompt") { script.log.last == "GETPIN" }
        closed.cancel()
        await #expect(throws: PinentryError.interrupted) { _ = try await closed.value }
        for count in [2, 3] {
            let start = ContinuousClock.now
            #expect(try await client.confirm(description: "b", ok: "y", cancel: "n") == .yes)
            #expect(script.log.count { $0 == "CONFIRM" } == count)
            if count == 2 { #expect(ContinuousClock.now - start >= limits.replacement) }
        }
    }

    @Test("A task that is already cancelled shows no prompt")
    func cancelledBefore() async throws {
        let program = try await ScriptedPinentry("GETPIN) echo 'D 1'; echo OK ;;")
        let failure = await withTaskGroup(of: PinentryError?.self) { group in
            group.cancelAll()
            group.addTask { await program.pinFailure(timeout: .seconds(20)) }
            return await group.next() ?? nil
        }
        #expect(failure == .interrupted)
        #expect(!program.log.contains("GETPIN"))
        #expect(!program.isAlive)
    }

    @Test(
        "Floods of output are protocol violations",
        arguments: [
            "while :; do echo 'S MORE'; done", "while :; do echo '# more'; done", "while :; do echo 'D 12345678'; done",
            "while :; do printf xxxxxxxxxxxxxxxxxxxxxxxx; done", "head -c 5000 /dev/zero; echo OK",
            "while :; do echo; done",
        ]
    )
    func floods(how: String) async throws {
        let program = try await ScriptedPinentry("GETPIN) \(how) ;;")
        await #expect(throws: PinentryError.protocolViolation) { try await program.pin() }
        #expect(!program.isAlive)
    }

    @Test("A flood instead of a greeting is a protocol violation")
    func floodsAtOnce() async throws {
        let program = try await ScriptedPinentry(whole: "yes")
        await #expect(throws: PinentryError.protocolViolation) { try await program.pin() }
        #expect(!program.isAlive)
    }

    @Test("A program that does not exit after BYE is ended")
    func lingers() async throws {
        let program = try await ScriptedPinentry("GETPIN) echo 'D 1'; echo OK ;; BYE) exec sleep 60 ;;")
        #expect(try await program.pin().text == "1")
        #expect(!program.isAlive)
    }

    @Test("The program inherits only its three standard streams")
    func descriptors() async throws {
        // A descriptor without close-on-exec.
        let ours = open("/dev/zero", O_RDONLY)
        try #require(ours > 2)
        defer { close(ours) }
        // `ls` reads the directory through descriptor 3.
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
            .notFound("x"), .cannotRun("x"), .didNotStart("x"), .protocolViolation, .promptFailed(code: 1),
            .textTooLong,
            .cancelled, .timedOut, .tooManyTries, .exited, .interrupted,
        ]
        #expect(Set(errors.map(\.sentence)).count == errors.count)
        for error in errors { #expect(!error.sentence.isEmpty && !error.sentence.contains("\n")) }
    }
}
