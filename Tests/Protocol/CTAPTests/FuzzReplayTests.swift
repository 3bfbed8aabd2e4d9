// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzers, replayed with the fuzz targets, whose sources are linked here.
@Suite("The CTAP fuzz corpora")
struct CTAPFuzzReplayTests {
    @Test("Requests")
    func requests() throws {
        let replay = try FuzzCorpus.replay("ctap-request", fuzzCTAPRequest)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 3, "the corpus contains invalid inputs")
    }

    @Test("Responses")
    func responses() throws {
        let replay = try FuzzCorpus.replay("ctap-response", fuzzCTAPResponse)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 12, "the corpus contains valid inputs")
    }
}
