// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzer, and random input, with the fuzz target, whose source is linked here.
@Suite("The CTAPHID fuzz corpus")
struct CTAPHIDFuzzReplayTests {
    @Test("Conversations")
    func conversations() throws {
        let replay = try FuzzCorpus.replay("ctaphid", fuzzCTAPHID)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "the corpus contains conversations with requests")
    }

    @Test("random interleavings of clients keep every rule")
    func randomConversations() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(300, thorough: 20_000) {
            let input = random.bytes(random.number(20...600))
            #expect(throws: Never.self, "\(random)") { try fuzzCTAPHID(input) }
        }
    }
}
