// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the fuzz targets themselves: their sources are linked to here.
@Suite("The fuzz corpora of hybrid transports")
struct CaBLECorpusTests {
    @Test("QR texts")
    func qr() throws {
        let replay = try FuzzCorpus.replay("qr", fuzzQR)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 8, "the seeds are of the right form")
        #expect(replay.refused.count >= 8, "and some are not, on purpose")
    }

    @Test("Service data")
    func serviceData() throws {
        let replay = try FuzzCorpus.replay("service-data", fuzzServiceData)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the seeds are of the right form")
        #expect(replay.refused.count >= 3, "and some are not, on purpose")
    }

    @Test("First messages and those that follow")
    func postHandshake() throws {
        let replay = try FuzzCorpus.replay("post-handshake", fuzzPostHandshake)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 8, "the seeds are of the right form")
        #expect(replay.refused.count >= 3, "and some are not, on purpose")
    }

    @Test("Linking information")
    func linking() throws {
        let replay = try FuzzCorpus.replay("linking", fuzzLinking)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the seeds are of the right form")
        #expect(replay.refused.count >= 3, "and some are not, on purpose")
    }

    @Test("Tunnel paths")
    func tunnelPath() throws {
        let replay = try FuzzCorpus.replay("tunnel-path", fuzzTunnelPath)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 3, "the seeds are of the right form")
        #expect(replay.refused.count >= 5, "and some are not, on purpose")
    }

    @Test("Handshakes with somebody in between")
    func handshake() throws {
        let replay = try FuzzCorpus.replay("handshake", fuzzHandshake)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 3, "the seeds are of the right form")
        #expect(replay.refused.count >= 8, "and some are not, on purpose")
    }

    @Test("Channels with somebody in between")
    func channel() throws {
        let replay = try FuzzCorpus.replay("channel", fuzzChannel)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "the seeds are of the right form")
        #expect(replay.refused.count >= 1, "and some are not, on purpose")
    }
}
