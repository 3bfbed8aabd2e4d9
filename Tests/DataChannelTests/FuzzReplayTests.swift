// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The fuzz corpora of the wire")
struct DataChannelFuzzReplayTests {
    @Test("What a relay answers")
    func answers() throws {
        let replay = try FuzzCorpus.replay("relay-answer", fuzzRelayAnswer)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 3, "the seeds are of the right form")
        #expect(replay.refused.count >= 10, "and some are not, on purpose")
    }

    @Test("What a relay passes on")
    func passedOn() throws {
        let replay = try FuzzCorpus.replay("relayed-frames", fuzzRelayedFrames)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "the seeds are of the right form")
    }
}
