// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The WebAuthn fuzz corpora")
struct WebAuthnFuzzReplayTests {
    @Test("Options")
    func options() throws {
        let replay = try FuzzCorpus.replay("webauthn-options", fuzzWebAuthnOptions)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 7, "the seeds are of the right form")
        #expect(replay.refused.count >= 8, "and some are not, on purpose")
    }

    @Test("Origins and relying party IDs")
    func origins() throws {
        let replay = try FuzzCorpus.replay("origin", fuzzOrigin)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "the seeds are of the right form")
        #expect(replay.refused.count >= 10, "and some are not, on purpose")
    }

    @Test("Answers of phones")
    func answers() throws {
        let replay = try FuzzCorpus.replay("webauthn-answer", fuzzWebAuthnAnswer)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 13, "the seeds are of the right form")
        #expect(replay.refused.count >= 5, "and some are not, on purpose")
    }
}
