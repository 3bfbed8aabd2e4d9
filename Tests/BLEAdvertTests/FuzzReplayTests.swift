// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Replays the fuzzers' seeds and former crashes with the fuzz targets, whose sources are linked here.
@Suite("The fuzz corpus of received adverts")
struct BLEAdvertFuzzReplayTests {
    @Test("Properties of devices")
    func properties() throws {
        let replay = try FuzzCorpus.replay("heard-advert", fuzzReceivedAdvert)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "valid seeds")
        #expect(replay.refused.count >= 3, "intentionally invalid seeds")
    }
}
