// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzers, replayed with the fuzz targets, whose sources are linked here.
@Suite("The fuzz corpus of pictures")
struct PictureFuzzReplayTests {
    @Test("Pictures")
    func pictures() throws {
        let replay = try FuzzCorpus.replay("picture", fuzzPicture)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 10, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 4, "the corpus contains invalid inputs")
    }

    @Test("Layouts of a camera's frames")
    func layouts() throws {
        let replay = try FuzzCorpus.replay("camera-layout", fuzzCameraLayout)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 15, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 6, "the corpus contains invalid inputs")
    }
}
