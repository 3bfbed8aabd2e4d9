// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzers, replayed with the fuzz targets, whose sources are linked here.
@Suite("The corpora of the SSH agent")
struct SSHFuzzReplayTests {
    @Test("Connections")
    func connections() throws {
        let replay = try FuzzCorpus.replay("sshagent", fuzzSSHAgent)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 12, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 4, "the corpus contains invalid inputs")
    }

    @Test("Signed data, keys and assertions")
    func signedData() throws {
        let replay = try FuzzCorpus.replay("sshsign", fuzzSSHSign)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 16, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 3, "the corpus contains invalid inputs")
    }
}
