// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The vault's fuzz corpus")
struct VaultFuzzReplayTests {
    @Test("Files")
    func files() throws {
        let replay = try FuzzCorpus.replay("vault", fuzzVault)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 12, "the seeds are of the right form")
        #expect(replay.refused.count >= 4, "and some are not, on purpose")
    }
}
