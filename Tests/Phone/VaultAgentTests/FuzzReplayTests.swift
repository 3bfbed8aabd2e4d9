// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The vault agent's fuzz corpus")
struct VaultAgentFuzzReplayTests {
    @Test("Messages")
    func messages() throws {
        let replay = try FuzzCorpus.replay("agent-message", fuzzAgentMessage)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 7, "the seeds are of the right form")
        #expect(replay.refused.count >= 2, "and some are not, on purpose")
    }
}
