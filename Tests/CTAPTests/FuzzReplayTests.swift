// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The CTAP fuzz corpora")
struct CTAPFuzzReplayTests {
    @Test("Requests")
    func requests() throws {
        let replay = try FuzzCorpus.replay("ctap-request", fuzzCTAPRequest)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the seeds are of the right form")
        #expect(replay.refused.count >= 3, "and some are not, on purpose")
    }

    @Test("Responses")
    func responses() throws {
        let replay = try FuzzCorpus.replay("ctap-response", fuzzCTAPResponse)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 12, "the seeds are of the right form")
    }
}
