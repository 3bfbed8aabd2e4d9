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

    @Test("Who says to have issued a certificate")
    func issuers() throws {
        let replay = try FuzzCorpus.replay("issuer-name", fuzzIssuerName)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the seeds are of the right form")
        #expect(replay.refused.count >= 3, "and some are not, on purpose")
    }

    @Test("Where a relay sends to")
    func redirects() throws {
        let replay = try FuzzCorpus.replay("redirect", fuzzRedirect)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "the seeds are of the right form")
        #expect(replay.refused.count >= 7, "and some are not, on purpose")
    }

    @Test("Which proxy the environment names")
    func proxies() throws {
        let replay = try FuzzCorpus.replay("proxy-settings", fuzzProxySettings)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the seeds are of the right form")
        #expect(replay.refused.count >= 6, "and some are not, on purpose")
    }

    @Test("What a relay passes on")
    func passedOn() throws {
        let replay = try FuzzCorpus.replay("relayed-frames", fuzzRelayedFrames)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "the seeds are of the right form")
    }

    @Test("Where messages end in packets")
    func cut() throws {
        let replay = try FuzzCorpus.replay("message-cutter", fuzzMessageCutter)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "the seeds are of the right form")
        #expect(replay.refused.count >= 2, "and some are not, on purpose")
    }
}
