// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzer's seeds and former crashes, through the fuzz target itself.
@Suite("The fuzz corpus of lines of a program that asks")
struct AskFuzzReplayTests {
    @Test("Lines")
    func lines() throws {
        let replay = try FuzzCorpus.replay("ask-line", fuzzAskLine)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "the seeds are of the right form")
        #expect(replay.refused.count >= 2, "and some are not, on purpose")
    }
}
