// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzers, replayed with the fuzz targets, whose sources are linked here.
@Suite("The WebAuthn fuzz corpora")
struct WebAuthnFuzzReplayTests {
    @Test("Options")
    func options() throws {
        let replay = try FuzzCorpus.replay("webauthn-options", fuzzWebAuthnOptions)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 7, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 8, "the corpus contains invalid inputs")
    }

    @Test("Origins and relying party IDs")
    func origins() throws {
        let replay = try FuzzCorpus.replay("origin", fuzzOrigin)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 10, "the corpus contains invalid inputs")
    }

    @Test("Responses of phones")
    func answers() throws {
        let replay = try FuzzCorpus.replay("webauthn-answer", fuzzWebAuthnAnswer)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 13, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 5, "the corpus contains invalid inputs")
    }

    @Test("Strict JSON")
    func json() throws {
        let replay = try FuzzCorpus.replay("json", fuzzJSON)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 8, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 12, "the corpus contains invalid inputs")
    }

    @Test("Related origins")
    func relatedOrigins() throws {
        let replay = try FuzzCorpus.replay("related-origins", fuzzRelatedOrigins)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 6, "the corpus contains invalid inputs")
    }

    @Test("Digital credentials")
    func digitalCredentials() throws {
        let replay = try FuzzCorpus.replay("digital-credential", fuzzDigitalCredential)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 5, "the corpus contains invalid inputs")
    }
}
