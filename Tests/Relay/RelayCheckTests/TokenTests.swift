// SPDX-License-Identifier: Apache-2.0

import HybridNetwork
import Testing

@testable import HybridRelayCheck

@Suite("The token in a check run")
struct TokenTests {
    @Test("is not visible in outcomes")
    func hidden() throws {
        let token = try #require(BearerToken("secret".utf8))
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped] { #expect(!text.contains("secret")) }
        for outcome in [
            CheckOutcome.ok("a secret b"), .differs("a secret b"), .skipped("a secret b"), .prevented("a secret b"),
        ] {
            #expect(outcome.hiding(token).found == "a (token) b")
            #expect(outcome.hiding(token).label == outcome.label)
            #expect(outcome.hiding(nil) == outcome)
        }
    }

    @Test("is part of requests that open a tunnel or wait for wake-ups, and of no others")
    func requests() throws {
        let token = try #require(BearerToken("secret".utf8))
        for (path, isThere) in [
            ("/cable/new/00", true), ("/cable/listen/00", true), ("/cable/connect/000000/00", false),
            ("/cable/contact/00", false), ("/", false),
        ] {
            let text = String(decoding: ProbeRequest(path).bytes(host: "h", token: token), as: UTF8.self)
            #expect(text.contains("\r\nAuthorization: Bearer secret\r\n") == isThere)
            #expect(text.contains("\r\nUser-Agent: \(UserAgent.text)\r\n"))
            #expect(!String(decoding: ProbeRequest(path).bytes(host: "h"), as: UTF8.self).contains("Authorization"))
        }
    }
}
