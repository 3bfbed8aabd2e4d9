// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Replays the fuzzers' seeds and former crashes through the fuzz targets, whose sources are linked here.
@Suite("Fuzz corpora of the network")
struct NetworkFuzzReplayTests {
    @Test("Issuer names")
    func issuers() throws {
        let replay = try FuzzCorpus.replay("issuer-name", fuzzIssuerName)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "valid seeds are accepted")
        #expect(replay.refused.count >= 3, "invalid seeds are rejected")
    }

    @Test("Redirections")
    func redirects() throws {
        let replay = try FuzzCorpus.replay("redirect", fuzzRedirect)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 5, "valid seeds are accepted")
        #expect(replay.refused.count >= 7, "invalid seeds are rejected")
    }

    @Test("Proxy settings")
    func proxies() throws {
        let replay = try FuzzCorpus.replay("proxy-settings", fuzzProxySettings)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 4, "valid seeds are accepted")
        #expect(replay.refused.count >= 6, "invalid seeds are rejected")
    }

    @Test("Sites' pages for passkeys")
    func passkeyEndpoints() throws {
        let replay = try FuzzCorpus.replay("passkey-endpoints", fuzzPasskeyEndpoints)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 2, "valid seeds are accepted")
        #expect(replay.refused.count >= 7, "invalid seeds are rejected")
    }
}
