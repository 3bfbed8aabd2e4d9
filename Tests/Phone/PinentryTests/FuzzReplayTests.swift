// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The pinentry dialogue's fuzz corpus")
struct PinentryFuzzReplayTests {
    @Test("Names and lines")
    func lines() throws {
        let replay = try FuzzCorpus.replay("assuan", fuzzAssuan)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 7, "the seeds are of the right form")
        #expect(replay.refused.count >= 2, "and some are not, on purpose")
    }
}
