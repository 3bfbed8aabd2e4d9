// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCTAP
import HybridPrimitives
import HybridProgram
import HybridThreads
import TestSupport
import Testing

@testable import HybridKeyService

@Suite("Processes of a ceremony", .timeLimit(.minutes(5)))
struct LauncherTests {
    /// The answer `x` of a phone that has scanned the code.
    private static let scanned = CeremonyAnswer(response: Array("x".utf8), phone: nil)

    private func perform(
        _ child: String,
        prompt: String? = nil,
        display: CeremonyDisplay = .terminal,
        cancellation: SigningCancellation? = nil,
        seconds: Int = 100,
        isLocked: Bool = false,
        in folder: TestFolder
    ) async throws -> CeremonyOutcome {
        let program = folder.path + "/child"
        try await TestFile.writeProgram("#!/bin/sh\n" + child, to: program)
        var display = display
        if let prompt {
            try await TestFile.writeProgram("#!/bin/sh\n" + prompt, to: folder.path + "/prompt")
            display = .prompt(path: folder.path + "/prompt")
        }
        let launcher = CeremonyLauncher(
            program: [program],
            isLocked: { isLocked },
            display: { [display] in display }
        )
        let request = CeremonyRequest(try CeremonyRequestTests().request.command, purpose: "p", seconds: seconds)
        return await DedicatedThread.run {
            launcher.perform(request, event: #"{"event":"request"}"#, cancellation: cancellation)
        }
    }

    @Test("The response is what the child writes; the prompt reads the request, then the child's progress")
    func response() async throws {
        try await TestFolder.with { folder in
            let outcome = try await perform(
                "echo progress \"$@\" >&2; head -c 4 >/dev/null; printf '\\007Pixel 8\\060answer'",
                prompt: "cat >\(folder.path)/seen.new; mv \(folder.path)/seen.new \(folder.path)/seen",
                in: folder
            )
            #expect(outcome == .answered(CeremonyAnswer(response: Array("0answer".utf8), phone: "Pixel 8")))
            try await Waiting.until("the prompt to end") { !TestFile.text(folder.path + "/seen").isEmpty }
            #expect(
                TestFile.text(folder.path + "/seen") == "{\"event\":\"request\"}\nprogress ceremony --display json\n"
            )
        }
    }

    @Test("The child's failure is the reason, wherever the code is shown")
    func failure() async throws {
        let unexplained = "the ceremony failed without a reason"
        let refused = CommandFailure("no key; create one", code: "no-key", status: .notPermitted)
        try await TestFolder.with { folder in
            for (child, expected) in [
                ("printf '\\0\\006no-keyno key; create one'; exit 77", CeremonyOutcome.failed(refused)),
                ("printf '\\056\\006no-keyno key; create one'; exit 77", .refused(.noCredentials, refused)),
                ("exit 77", .failed(CommandFailure(unexplained, status: .notPermitted))),
                ("printf '\\0xy'; exit 69", .failed(CommandFailure(unexplained, status: .unavailable))),
                ("kill -9 $$", .failed(.ceremonyFault)), ("true", .failed(.ceremonyFault)),
                ("printf x", .failed(.ceremonyFault)),
            ] {
                for display in [CeremonyDisplay.terminal, .page] {
                    let outcome = try await perform(child, display: display, in: folder)
                    #expect(outcome == expected, "\(child)")
                }
                let outcome = try await perform(child, prompt: "cat >/dev/null", in: folder)
                #expect(outcome == expected, "\(child)")
            }
        }
    }

    @Test("A caller that shows the progress itself receives whole lines of bounded length")
    func progressOfCaller() async throws {
        try await TestFolder.with { folder in
            let program = folder.path + "/child"
            let long = "head -c 20000 /dev/zero | tr '\\0' x >&2; echo >&2"
            let child = "head -c 4 >/dev/null; printf a >&2; echo b >&2; \(long); echo c >&2; printf '\\0x'"
            try await TestFile.writeProgram("#!/bin/sh\n" + child, to: program)
            let lines = Locked<[String]>([])
            let launcher = CeremonyLauncher(
                program: [program],
                showProgress: { line in lines.withLock { $0.append(line) } },
                display: { .caller }
            )
            let request = CeremonyRequest(try CeremonyRequestTests().request.command, purpose: "p", seconds: 100)
            let outcome = await DedicatedThread.run { launcher.perform(request, event: "", cancellation: nil) }
            #expect(outcome == .answered(Self.scanned))
            #expect(lines.withLock { $0 } == ["ab", "c"])
        }
    }

    @Test("A cancel by the prompt ends the child's input, and the child")
    func cancelByPrompt() async throws {
        try await TestFolder.with { folder in
            let child = "cat >/dev/null; touch \(folder.path)/ended; exit 130"
            let outcome = try await perform(child, prompt: "read line; echo cancel; cat >/dev/null", in: folder)
            #expect(outcome == .cancelled)
            #expect(TestFile.contents(below: folder.path).keys.contains("ended"))
        }
    }

    @Test("The end of the prompt ends the ceremony, which may have a reason of its own; other answers do not")
    func endOfPrompt() async throws {
        try await TestFolder.with { folder in
            let child = "cat >/dev/null; exit 130"
            let first = try await perform(child, prompt: "exit 0", in: folder)
            #expect(first == .failed(.promptEnded))
            let reason = CommandFailure("no key", code: "no-key", status: .notPermitted)
            let explained = "cat >/dev/null; printf '\\0\\006no-keyno key'; exit 77"
            let itself = try await perform(explained, prompt: "exit 0", in: folder)
            #expect(itself == .failed(reason))
            let file = folder.path + "/said"
            let answers = "echo proceed; echo cancelled; echo show-code; touch \(file); cat >/dev/null"
            let other = "while ! [ -e \(file) ]; do sleep 0.01; done; printf '\\0x'"
            let second = try await perform(other, prompt: answers, in: folder)
            #expect(second == .answered(Self.scanned))
        }
    }

    @Test("The user's wish for a code, or to use the linked phone, reaches the child as one byte")
    func codeRequest() async throws {
        try await TestFolder.with { folder in
            let request = CeremonyRequest(try CeremonyRequestTests().request.command, purpose: "p", seconds: 100)
            let length = request.encoded.count
            let child = "head -c \(length) >/dev/null; printf '\\0'; head -c 1"
            for (answer, byte) in [("show-code", CeremonyRequest.showCode), ("proceed", CeremonyRequest.usePhone)] {
                let outcome = try await perform(child, prompt: "echo \(answer); cat >/dev/null", in: folder)
                #expect(outcome == .answered(CeremonyAnswer(response: [byte], phone: nil)))
            }
        }
    }

    @Test("A prompt that ends after the answer does not take it back")
    func endOfPromptAfterAnswer() async throws {
        try await TestFolder.with { folder in
            let child = "printf '\\0x'; echo done >&2; sleep 0.5"
            let outcome = try await perform(child, prompt: "read request; read done; exit 0", in: folder)
            #expect(outcome == .answered(Self.scanned))
        }
    }

    @Test("A client that has left ends child and prompt")
    func cancellation() async throws {
        try await TestFolder.with { folder in
            let cancellation = try #require(SigningCancellation())
            let ready = folder.path + "/ready"
            async let outcome = perform(
                "cat >/dev/null; exit 130",
                prompt: "trap 'touch \(folder.path)/ended; exit' TERM; touch \(ready); while :; do sleep 0.05; done",
                cancellation: cancellation,
                in: folder
            )
            try await Waiting.until("the prompt to start") {
                TestFile.contents(below: folder.path).keys.contains("ready")
            }
            cancellation.cancel()
            let ending = try await outcome
            #expect(ending == .cancelled)
            try await Waiting.until("the prompt to end") {
                TestFile.contents(below: folder.path).keys.contains("ended")
            }
        }
    }

    @Test("While the session is locked, neither a prompt nor a ceremony is started")
    func locked() async throws {
        try await TestFolder.with { folder in
            for isLocked in [true, false] {
                let outcome = try await perform(
                    "touch \(folder.path)/contacted; printf '\\0x'",
                    prompt: "touch \(folder.path)/opened; cat >/dev/null",
                    isLocked: isLocked,
                    in: folder
                )
                #expect(outcome == (isLocked ? .sessionLocked : .answered(Self.scanned)))
                #expect(TestFile.contents(below: folder.path).keys.contains("contacted") != isLocked)
            }
            try await Waiting.until("the prompt") { TestFile.contents(below: folder.path).keys.contains("opened") }
        }
    }

    @Test("One window is open at a time; a further request waits for its turn, its client or its time limit")
    func turns() async throws {
        try await TestFolder.with { _ in
            let launcher = CeremonyLauncher(program: ["/bin/true"]) { .page }
            let first = try launcher.open(event: "", unless: nil)
            #expect(throws: WindowRefusal.timedOut) {
                _ = try launcher.open(event: "", unless: nil, within: .milliseconds(1))
            }
            let cancellation = try #require(SigningCancellation())
            cancellation.cancel()
            #expect(throws: WindowRefusal.withdrawn) { _ = try launcher.open(event: "", unless: cancellation) }
            async let second = DedicatedThread.run {
                guard let window = try? launcher.open(event: "", unless: nil) else { return false }
                defer {
                    launcher.leave(window)
                    launcher.leave(window)
                }
                let third = try? launcher.open(event: "", unless: nil, within: .milliseconds(1))
                return third == nil
            }
            launcher.leave(first)
            let hadTurn = await second
            #expect(hadTurn)
            launcher.leave(try launcher.open(event: "", unless: nil, within: .zero))
            // A window that is dropped gives its turn back, too.
            _ = try launcher.open(event: "", unless: nil, within: .zero)
            _ = try launcher.open(event: "", unless: nil, within: .zero)
        }
    }

    @Test("A prompt that ignores SIGTERM is killed")
    func stubbornPrompt() async throws {
        try await TestFolder.with { folder in
            let cancellation = try #require(SigningCancellation())
            let ready = folder.path + "/ready"
            async let outcome = perform(
                "cat >/dev/null; exit 130",
                prompt: """
                    trap '' TERM; echo $$ >\(ready).new; mv \(ready).new \(ready)
                    for i in $(seq 2400); do sleep 0.05; done
                    """,
                cancellation: cancellation,
                in: folder
            )
            try await Waiting.until("the prompt to start") { !TestFile.text(ready).isEmpty }
            let prompt = try #require(pid_t(TestFile.text(ready).dropLast()))
            cancellation.cancel()
            let ending = try await outcome
            #expect(ending == .cancelled)
            try await Waiting.until("the prompt to be gone") { kill(prompt, 0) != 0 }
        }
    }

    @Test("Too long a response is none")
    func longResponse() async throws {
        try await TestFolder.with { folder in
            let count = CeremonyLauncher.maximumResponse + 1
            let outcome = try await perform("head -c \(count) /dev/zero", in: folder)
            #expect(outcome == .failed(.ceremonyFault))
        }
    }

    @Test("The prompt of the settings comes first, then the one on the path, then the page")
    func displays() async throws {
        try await TestFolder.with { folder in
            #expect(CeremonyDisplay.graphical(prompt: "/p", searchPath: folder.path) == .prompt(path: "/p"))
            #expect(CeremonyDisplay.graphical(prompt: nil, searchPath: folder.path) == .page)
            let path = folder.path + "/hybrid-prompt"
            try await TestFile.writeProgram("#!/bin/sh\n", to: path)
            #expect(CeremonyDisplay.graphical(prompt: nil, searchPath: "x:\(folder.path)") == .prompt(path: path))
            #expect(CeremonyDisplay.graphical(prompt: nil, searchPath: nil) == .page)
        }
    }
}
