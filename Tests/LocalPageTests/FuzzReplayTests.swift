// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The page's fuzz corpus")
struct PageFuzzReplayTests {
    @Test("Requests")
    func requests() throws {
        let replay = try FuzzCorpus.replay("page-request", fuzzPageRequest)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 3, "the seeds are of the right form")
        #expect(replay.refused.count >= 6, "and some are not, on purpose")
    }
}
