// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Replays the fuzzers' seeds and former crashes through the fuzz targets, whose sources are linked here.
@Suite("The relay's fuzz corpora")
struct RelayFuzzReplayTests {
    @Test("Request heads")
    func requests() throws {
        let replay = try FuzzCorpus.replay("websocket-request", fuzzWebSocketRequest)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 2, "these seeds are valid")
        #expect(replay.refused.count >= 2, "these are invalid on purpose")
    }

    @Test("Frames")
    func frames() throws {
        let replay = try FuzzCorpus.replay("websocket-frames", fuzzWebSocketFrames)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "these seeds are valid")
        #expect(replay.refused.count >= 1, "these are invalid on purpose")
    }

    @Test("Orders of calls to the tunnel table")
    func table() throws {
        let replay = try FuzzCorpus.replay("tunnel-table", fuzzTunnelTable)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "these seeds are valid")
        #expect(replay.refused.count >= 2, "these are invalid on purpose")
    }

    @Test("PROXY headers")
    func proxyHeaders() throws {
        let replay = try FuzzCorpus.replay("proxy-header", fuzzProxyHeader)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 8, "these seeds are valid")
        #expect(replay.refused.count >= 2, "these are invalid on purpose")
    }

    @Test("Phones and clients at one relay")
    func relay() throws {
        let replay = try FuzzCorpus.replay("relay", fuzzRelay)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 10, "these seeds are valid")
        #expect(replay.refused.count >= 1, "these are invalid on purpose")
    }

    @Test("Phones and clients at one relay, over TLS")
    func relayTLS() throws {
        let replay = try FuzzCorpus.replay("relay-tls", fuzzRelayTLS)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "these seeds are valid")
        #expect(replay.refused.count >= 1, "these are invalid on purpose")
    }
}
