// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzers, replayed with the fuzz targets, whose sources are linked here.
@Suite("The fuzz corpora of the hybrid transport")
struct CaBLECorpusTests {
    @Test("QR texts")
    func qr() throws {
        let replay = try FuzzCorpus.replay("qr", fuzzQR)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 8, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 8, "the corpus contains invalid inputs")
    }

    @Test("Texts of transfer codes")
    func transferCode() throws {
        let replay = try FuzzCorpus.replay("transfer-code", fuzzTransferCode)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 8, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 12, "the corpus contains invalid inputs")
    }

    @Test("Service data")
    func serviceData() throws {
        let replay = try FuzzCorpus.replay("service-data", fuzzServiceData)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 3, "the corpus contains invalid inputs")
    }

    @Test("First and later messages")
    func postHandshake() throws {
        let replay = try FuzzCorpus.replay("post-handshake", fuzzPostHandshake)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 8, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 3, "the corpus contains invalid inputs")
    }

    @Test("Linking information")
    func linking() throws {
        let replay = try FuzzCorpus.replay("linking", fuzzLinking)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 3, "the corpus contains invalid inputs")
    }

    @Test("Messages between a relay and a listening phone")
    func listenMessages() throws {
        let replay = try FuzzCorpus.replay("listen-message", fuzzListenMessage)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 8, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 10, "the corpus contains invalid inputs")
    }

    @Test("Contact IDs of push subscriptions, and push messages")
    func pushContacts() throws {
        let replay = try FuzzCorpus.replay("push-contact", fuzzPushContact)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 3, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 4, "the corpus contains invalid inputs")
    }

    @Test("Requests to linked phones")
    func contactRequests() throws {
        let replay = try FuzzCorpus.replay("contact-request", fuzzContactRequest)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 7, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 6, "the corpus contains invalid inputs")
    }

    @Test("Tunnel paths")
    func tunnelPath() throws {
        let replay = try FuzzCorpus.replay("tunnel-path", fuzzTunnelPath)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 3, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 5, "the corpus contains invalid inputs")
    }

    @Test("Handshakes with an attacker")
    func handshake() throws {
        let replay = try FuzzCorpus.replay("handshake", fuzzHandshake)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 3, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 8, "the corpus contains invalid inputs")
    }

    @Test("Channels with an attacker")
    func channel() throws {
        let replay = try FuzzCorpus.replay("channel", fuzzChannel)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "the corpus contains valid inputs")
        #expect(replay.refused.count >= 1, "the corpus contains invalid inputs")
    }
}
