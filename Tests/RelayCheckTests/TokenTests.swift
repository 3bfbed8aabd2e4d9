// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridRelayCheck

@Suite("A relay's token")
struct TokenTests {
    @Test(
        "is a b68token of at most 512 characters",
        arguments: ["a", "A9-._~+/==", String(repeating: "x", count: 512)]
    )
    func tokens(text: String) {
        #expect(TunnelToken(text.utf8)?.withUnsafeBytes { Array($0) } == Array(text.utf8))
    }

    @Test("is nothing else", arguments: ["", " a", "a b", "é", "a\r\nX: y", "a,b", String(repeating: "x", count: 513)])
    func others(text: String) {
        #expect(TunnelToken(text.utf8) == nil)
    }

    @Test("is not shown, neither by itself nor in what was found")
    func hidden() throws {
        let token = try #require(TunnelToken("secret".utf8))
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

    @Test("stands in requests that open a tunnel, and in no others")
    func requests() throws {
        let token = try #require(TunnelToken("secret".utf8))
        for (path, isThere) in [
            ("/cable/new/00", true), ("/cable/connect/000000/00", false), ("/cable/contact/00", false), ("/", false),
        ] {
            let text = String(decoding: ProbeRequest(path).bytes(host: "h", token: token), as: UTF8.self)
            #expect(text.contains("\r\nAuthorization: Bearer secret\r\n") == isThere)
            #expect(!String(decoding: ProbeRequest(path).bytes(host: "h"), as: UTF8.self).contains("Authorization"))
        }
    }
}
