// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The pictures' fuzz corpus")
struct PictureFuzzReplayTests {
    @Test("Pictures")
    func pictures() throws {
        let replay = try FuzzCorpus.replay("picture", fuzzPicture)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 10, "the seeds are of the right form")
        #expect(replay.refused.count >= 4, "and some are not, on purpose")
    }
}
