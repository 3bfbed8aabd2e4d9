// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The fuzz corpus of adverts that are heard")
struct BLEAdvertFuzzReplayTests {
    @Test("Properties of devices")
    func properties() throws {
        let replay = try FuzzCorpus.replay("heard-advert", fuzzHeardAdvert)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the seeds are of the right form")
        #expect(replay.refused.count >= 3, "and some are not, on purpose")
    }
}
