// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The CBOR fuzz corpus")
struct CBORCorpusTests {
    @Test("Items")
    func items() throws {
        let replay = try FuzzCorpus.replay("cbor", fuzzCBOR)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 14, "the seeds are of the right form")
        #expect(replay.refused.count >= 5, "and some are not, on purpose")
    }
}
