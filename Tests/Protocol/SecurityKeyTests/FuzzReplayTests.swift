// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzer, and random input, with the fuzz target, whose source is linked here.
@Suite("The security key's fuzz corpus")
struct SecurityKeyFuzzReplayTests {
    @Test("Commands, responses, files and conversations")
    func inputs() throws {
        let replay = try FuzzCorpus.replay("securitykey", fuzzSecurityKey)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 8, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 3, "the corpus contains invalid inputs")
    }

    @Test("random interleavings of clients, user and phone keep every rule")
    func randomConversations() throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(300, thorough: 20_000) {
            let input = [3] + random.bytes(random.number(20...600))
            #expect(throws: Never.self, "\(random)") { try fuzzSecurityKey(input) }
        }
    }
}
