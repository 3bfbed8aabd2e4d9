// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridProgram
import Testing

@testable import HybridCommandSupport

/// Serialized, because signal handlers belong to the whole process.
@Suite("Termination signals", .serialized)
struct TerminationTests {
    @Test("a signal cancels the body and is reported", arguments: TerminationSignal.allCases)
    func cancels(signal: TerminationSignal) async {
        // The tests may run under nohup.
        let before = Glibc.signal(signal.rawValue, SIG_DFL)
        defer { Glibc.signal(signal.rawValue, before) }
        let ending = await withTerminationSignals {
            kill(getpid(), signal.rawValue)
            // Longer than any test runs, so that only the signal ends it.
            try await Task.sleep(for: .seconds(600))
        }
        #expect(ending.signal == signal)
        #expect(throws: CancellationError.self) { try ending.result.get() }
    }

    @Test("a value that a body has in spite of the signal is kept only if its work was done", arguments: [true, false])
    func lateSignal(keepsResult: Bool) async throws {
        let before = Glibc.signal(SIGTERM, SIG_DFL)
        defer { Glibc.signal(SIGTERM, before) }
        let value = try? await untilSignal(keepsResult: keepsResult) {
            kill(getpid(), SIGTERM)
            try? await Task.sleep(for: .seconds(600))
            return 42
        }
        #expect(value == (keepsResult ? 42 : nil))
        await #expect(throws: CommandFailure.self) {
            try await untilSignal(keepsResult: keepsResult) {
                kill(getpid(), SIGTERM)
                try await Task.sleep(for: .seconds(600))
            }
        }
    }

    @Test("an ignored SIGHUP, as under nohup, remains ignored")
    func ignoredHangup() async throws {
        let before = signal(SIGHUP, SIG_IGN)
        defer { signal(SIGHUP, before) }
        let ending = await withTerminationSignals {
            kill(getpid(), SIGHUP)
            return SignalPipe.isIgnored(.hangup)
        }
        #expect(try ending.result.get())
        #expect(ending.signal == nil)
    }

    @Test("the value of a body is returned, and the previous handlers are restored")
    func returns() async throws {
        var before = sigaction()
        sigaction(SIGTERM, nil, &before)
        let ending = await withTerminationSignals { 42 }
        #expect(try ending.result.get() == 42)
        #expect(ending.signal == nil)
        var after = sigaction()
        sigaction(SIGTERM, nil, &after)
        let handlers = [before, after].map { unsafeBitCast($0.__sigaction_handler.sa_handler, to: Int.self) }
        #expect(handlers[0] == handlers[1])
    }
}
