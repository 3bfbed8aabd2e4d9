// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridPinentry
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridAsk

/// A program that asks: a shell script in a folder of its own, which logs the lines it receives.
private struct ScriptedProgram: Sendable {
    let folder: TestFolder

    /// Creates a program that is ready at once and answers lines by the cases over `$line`.
    init(_ cases: String, greeting: String = #"echo '{"ready":1}'"#, after: String = "") async throws {
        try await self.init(
            whole: """
                \(greeting)
                while IFS= read -r line; do
                    printf '%s\\n' "$line" >> log
                    case "$line" in
                \(cases)
                    esac
                done
                echo end >> log
                \(after)
                """
        )
    }

    /// Creates a program without the loop.
    init(whole script: String) async throws {
        folder = try TestFolder()
        let text = "#!/bin/sh\ncd '\(folder.path)'\necho $$ > pid.new; mv pid.new pid\n\(script)\n"
        try await TestFile.writeProgram(text, to: path)
    }

    var path: String { folder.path + "/ask" }
    var log: [String] { TestFile.text(folder.path + "/log").split(separator: "\n").map(String.init) }

    /// Starts the program, with limits for a busy computer.
    func start(ready: Duration = .seconds(60), exit: Duration = .seconds(60)) throws -> AskProgram {
        try #require(AskProgram(path, limits: .init(ready: ready, exit: exit, failure: .seconds(60))))
    }

    /// Waits until the process has been reaped.
    func untilGone() async throws {
        try await Waiting.until("the process", evidence: log.joined(separator: "\n")) {
            guard let id = pid_t(TestFile.text(folder.path + "/pid").split(separator: "\n").first ?? "") else {
                return false
            }
            return kill(id, 0) != 0
        }
        try folder.remove()
    }

    func untilLogged(_ words: String) async throws {
        try await Waiting.until(words) { log.contains { $0.contains(words) } }
    }
}

@Suite("Programs that ask", .timeLimit(.minutes(5)))
struct AskProgramTests {
    private func pin(within limit: Duration = .seconds(60)) -> AskQuestion {
        AskQuestion(.pin, within: limit, [("rpId", .string("example.com"))])
    }

    private func typed(_ program: AskProgram, _ question: AskQuestion) async throws -> String? {
        guard case .typed(let secret) = try await program.ask(question) else { return nil }
        return secret.text
    }

    @Test("Questions, events and the end are sent in their order, and the program exits")
    func order() async throws {
        let script = try await ScriptedProgram(
            #"*'"ask":1'*) echo '{"answer":1,"pin":"1234"}' ;; *'"ask":2'*) echo '{"answer":2,"agree":true}' ;;"#
        )
        let program = try script.start()
        program.show(.state("tunnel-open"))
        #expect(await program.isUsable)
        #expect(try await typed(program, pin()) == "1234")
        program.show(.notice("old-code", "OLD CODE"))
        guard case .agreed = try await program.ask(.sample(.create)) else { throw AskRefusal.declined }
        #expect(program.finish(.done))
        #expect(!program.finish(.done), "there is one end")
        await #expect(throws: AskRefusal.declined) { try await program.ask(pin()) }
        try await Waiting.until("the program's end") { script.log.last == "end" }
        let kinds = script.log.map { $0.prefix { $0 != ":" && $0 != "," } }
        #expect(kinds == ["{\"state\"", "{\"ask\"", "{\"notice\"", "{\"ask\"", "{\"end\"", "end"])
        try await script.untilGone()
    }

    @Test("The environment has additional variables, and the program no other connection")
    func environment() async throws {
        let script = try await ScriptedProgram(
            "",
            greeting: #"ls /proc/$$/fd > log; echo "$T" >> log; echo '{"ready":1}'"#
        )
        let opened = open("/dev/null", O_RDONLY)
        defer { close(opened) }
        let program = try #require(
            AskProgram(script.path, variables: ["T": "token"], limits: .init(ready: .seconds(60)))
        )
        #expect(await program.isUsable)
        #expect(script.log.contains("token"))
        // The shell has its script open as 10 or higher.
        #expect(script.log.filter { Int($0).map { (3..<10).contains($0) } ?? false } == [])
        program.abort()
        try await script.untilGone()
    }

    @Test("A program that can't be started is reported", arguments: ["/nonexistent", "/tmp", "/etc/passwd"])
    func missing(path: String) { #expect(AskProgram(path) == nil) }

    @Test(
        "A program that is not ready is not used and ended",
        arguments: [
            "exit 0", "exit 1", "kill -9 $$", "echo '{\"ready\":2}'; cat", "echo OK; cat",
            "printf '{\"ready\":1}'; exec 1>&-",
            "head -c 9000 /dev/zero; cat",
        ]
    )
    func notReady(how: String) async throws {
        let script = try await ScriptedProgram(whole: how)
        let program = try script.start()
        #expect(await !program.isUsable)
        await #expect(throws: AskRefusal.declined) { try await program.ask(pin()) }
        try await script.untilGone()
    }

    @Test("A program that never says that it is ready is ended", arguments: ["cat > /dev/null", "trap '' TERM; cat"])
    func neverReady(how: String) async throws {
        let script = try await ScriptedProgram(whole: how)
        let program = try script.start(ready: .seconds(4))
        #expect(await !program.isUsable)
        try await script.untilGone()
    }

    @Test(
        "A program that ends declines the open question and all later ones",
        arguments: [
            "exit 0", "exit 3", "kill -9 $$", "printf '{\"answer\":1,\"pin\":\"1\"'; exit 0", "exec 1>&- 0<&-; exit 0",
            "head -c 9000 /dev/zero", "yes '{\"answer\":7,\"pin\":\"1\"}'",
        ]
    )
    func ends(how: String) async throws {
        let script = try await ScriptedProgram("*) \(how) ;;")
        let program = try script.start()
        #expect(await program.isUsable)
        for _ in 0..<2 { await #expect(throws: AskRefusal.declined) { try await program.ask(pin()) } }
        #expect(await program.isUsable, "it was ready, so it is not replaced")
        try await script.untilGone()
    }

    @Test("A program that ends between two questions declines the next one")
    func endsBetween() async throws {
        let script = try await ScriptedProgram(#"*) echo '{"answer":1,"pin":"1"}'; exit 0 ;;"#)
        let program = try script.start()
        #expect(try await typed(program, pin()) == "1")
        try await script.untilGone()
        await #expect(throws: AskRefusal.declined) { try await program.ask(pin()) }
    }

    @Test("A question that is not answered in time is withdrawn, and a late answer has no effect")
    func timeLimit() async throws {
        let script = try await ScriptedProgram(
            #"*withdraw*) echo '{"answer":1,"pin":"late"}' ;; *'"ask":2'*) echo '{"answer":2,"pin":"2"}' ;;"#
        )
        let program = try script.start()
        await #expect(throws: AskRefusal.timedOut) { try await program.ask(pin(within: .milliseconds(200))) }
        try await script.untilLogged(#"{"withdraw":1,"because":"timed-out"}"#)
        #expect(try await typed(program, pin()) == "2")
        program.abort()
        try await script.untilGone()
    }

    @Test("A canceled question is withdrawn with its cause", arguments: AskWithdrawal.allCases)
    func cancelled(cause: AskWithdrawal) async throws {
        let script = try await ScriptedProgram("*withdrawn*) ;;")
        let program = try script.start()
        let asking = Task { try await program.ask(pin()) { cause } }
        try await script.untilLogged("ask")
        asking.cancel()
        let expected: AskRefusal = cause == .timedOut ? .timedOut : .interrupted
        await #expect(throws: expected) { try await asking.value }
        try await script.untilLogged("{\"withdraw\":1,\"because\":\"\(cause.rawValue)\"}")
        program.abort()
        try await script.untilGone()
    }

    @Test("A task that is canceled before asks nothing")
    func cancelledBefore() async throws {
        let script = try await ScriptedProgram("*) ;;")
        let program = try script.start()
        #expect(await program.isUsable)
        let asking = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await program.ask(pin())
        }
        await #expect(throws: AskRefusal.interrupted) { try await asking.value }
        program.finish(.done)
        try await script.untilLogged("end")
        #expect(script.log.first == #"{"end":"done"}"#)
        try await script.untilGone()
    }

    @Test("A program that reads nothing declines once its input is full, and is ended")
    func deaf() async throws {
        let script = try await ScriptedProgram(whole: "echo '{\"ready\":1}'; exec sleep 600")
        let program = try script.start()
        #expect(await program.isUsable)
        let long = AskQuestion(
            .question,
            within: .seconds(60),
            [("text", .string(String(repeating: "x", count: 60_000)))]
        )
        let asking = Task { try await program.ask(long) }
        for _ in 0..<20 { program.show(.notice("x", String(repeating: "\u{E000}", count: 2000))) }
        await #expect(throws: AskRefusal.declined) { try await asking.value }
        try await script.untilGone()
    }

    @Test("A program that stays after the end is ended")
    func stays() async throws {
        let script = try await ScriptedProgram("*) ;;", after: "exec sleep 600")
        let program = try script.start(exit: .milliseconds(200))
        #expect(await program.isUsable)
        program.finish(.done)
        try await script.untilGone()
    }

    @Test("A program that shows a failure may stay, and its lines have no effect")
    func failure() async throws {
        let script = try await ScriptedProgram(
            #"*failed*) echo '{"answer":1,"pin":"1"}'; echo nonsense; while [ ! -e closed ]; do sleep 0.02; done ;;"#
        )
        let program = try script.start(exit: .zero)
        #expect(await program.isUsable)
        #expect(program.finish(.failed(code: "x", message: "it failed", remedy: nil)))
        try await script.untilLogged("failed")
        #expect(!script.log.contains("end"))
        try script.folder.write("", to: "closed")
        try await script.untilLogged("end")
        try await script.untilGone()
    }

    @Test("A program whose owner is gone gets the end of its input")
    func released() async throws {
        let script = try await ScriptedProgram("*) ;;")
        do {
            let program = try script.start()
            #expect(await program.isUsable)
        }
        try await script.untilLogged("end")
        try await script.untilGone()
    }
}
