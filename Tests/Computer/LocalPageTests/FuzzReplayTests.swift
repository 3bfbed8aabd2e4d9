// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The corpus and former crashes, run through the fuzz target, whose source is linked here.
@Suite("The page's fuzz corpus")
struct PageFuzzReplayTests {
    @Test("Requests")
    func requests() throws {
        let replay = try FuzzCorpus.replay("page-request", fuzzPageRequest)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 3, "the seeds are valid")
        #expect(replay.refused.count >= 6, "some are invalid on purpose")
    }
}
