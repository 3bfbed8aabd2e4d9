// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Replays the fuzzers' seeds and former crashes through the fuzz targets, whose sources are linked here.
@Suite("Fuzz corpora of the data channel")
struct DataChannelFuzzReplayTests {
    @Test("Relay responses")
    func answers() throws {
        let replay = try FuzzCorpus.replay("relay-answer", fuzzRelayAnswer)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "valid seeds are accepted")
        #expect(replay.refused.count >= 10, "invalid seeds are rejected")
    }

    @Test("Relayed frames")
    func relayedFrames() throws {
        let replay = try FuzzCorpus.replay("relayed-frames", fuzzRelayedFrames)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "valid seeds are accepted")
    }

    @Test("Message reassembly")
    func reassembly() throws {
        let replay = try FuzzCorpus.replay("message-reassembler", fuzzMessageReassembler)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "valid seeds are accepted")
        #expect(replay.refused.count >= 2, "invalid seeds are rejected")
    }
}
