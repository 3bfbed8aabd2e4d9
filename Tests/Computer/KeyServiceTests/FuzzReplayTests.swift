// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzer, replayed with the fuzz target, whose sources are linked here.
@Suite("The corpus of keys and frames")
struct KeyFuzzReplayTests {
    @Test("Lists of keys, requests, known hosts, messages for another agent")
    func replay() throws {
        let replay = try FuzzCorpus.replay("sshkeys", fuzzSSHKeys)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the corpus contains valid inputs")
    }

    @Test("Messages of other hosts, answers, permissions")
    func remote() throws {
        let replay = try FuzzCorpus.replay("remote", fuzzRemote)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 6, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 3, "the corpus contains invalid inputs")
    }
}
