// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzer, with the fuzz targets, whose source is linked here.
@Suite("The fuzz corpus of responses")
struct RelyingPartyFuzzReplayTests {
    @Test("Registrations")
    func registrations() throws {
        let replay = try FuzzCorpus.replay("registration", fuzzRegistration)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 3, "the corpus contains registrations that pass")
        #expect(replay.refused.count >= 3)
    }

    @Test("Sign-ins")
    func authentications() throws {
        let replay = try FuzzCorpus.replay("authentication", fuzzAuthentication)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 2, "the corpus contains sign-ins that pass")
        #expect(replay.refused.count >= 3)
    }
}
