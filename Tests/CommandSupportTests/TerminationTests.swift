// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import HybridCommandSupport

/// Signals are the process's own, so these run one after the other.
@Suite("Ending by signals", .serialized)
struct TerminationTests {
    @Test("a signal cancels the body and is named", arguments: TerminationSignal.allCases)
    func cancels(signal: TerminationSignal) async {
        let ending = await withTerminationSignals {
            kill(getpid(), signal.number)
            // Longer than any test may last: only the signal ends it.
            try await Task.sleep(for: .seconds(600))
        }
        #expect(ending.signal == signal)
        #expect(throws: CancellationError.self) { try ending.result.get() }
    }

    @Test("a body that ends by itself gives its value, and signals mean what they meant before")
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
