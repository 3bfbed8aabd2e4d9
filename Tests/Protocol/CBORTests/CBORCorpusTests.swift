// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzers, replayed with the fuzz targets, whose sources are linked here.
@Suite("The CBOR fuzz corpus")
struct CBORCorpusTests {
    @Test("Items")
    func items() throws {
        let replay = try FuzzCorpus.replay("cbor", fuzzCBOR)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 14, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 5, "the corpus contains invalid inputs")
    }
}
