// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import Testing

@testable import HybridRelayCore

@Suite("Access checks of a request")
struct RequestAccessTests {
    private func request(_ fields: [String], host: String? = nil) throws -> UpgradeRequest {
        let changes: [String: String?] = host.map { ["Host": "Host: \($0)"] } ?? [:]
        return try UpgradeRequest(parsing: UpgradeRequestTests.head(changes, adding: fields))
    }

    private func originRefusal(_ request: UpgradeRequest) -> UpgradeRefusal? {
        do throws(UpgradeRefusal) {
            try request.checkOrigin()
            return nil
        } catch {
            return error
        }
    }

    private func token(_ request: UpgradeRequest) -> Result<TunnelTokenHash?, UpgradeRefusal> {
        Result { () throws(UpgradeRefusal) in try request.bearerToken() }
    }

    // MARK: Origin

    @Test("an app may send no Origin")
    func noOrigin() throws {
        let request = try request([])
        #expect(request.origin == .absent)
        #expect(originRefusal(request) == nil)
    }

    @Test(
        "an Origin with the same host is accepted, with any scheme, port and case",
        arguments: [
            ("wss://cable.example", "cable.example"), ("https://cable.example", "cable.example"),
            ("https://cable.example:8443", "cable.example"), ("https://cable.example", "cable.example:443"),
            ("HTTPS://CABLE.Example", "cable.EXAMPLE"), ("ws://127.0.0.1:1", "127.0.0.1:2"),
            ("https://[2001:DB8::1]", "[2001:db8::1]:8443"), ("https://[::1]:", "[::1]"), ("x+y-z.1://a_b", "a_b"),
            ("https://xn--bcher-kva.example", "xn--bcher-kva.example:65535"),
        ]
    )
    func sameHost(origin: String, host: String) throws {
        let request = try request(["Origin: \(origin)"], host: host)
        #expect(request.origin == .sameHost)
        #expect(originRefusal(request) == nil)
    }

    @Test(
        "other Origins are refused",
        arguments: [
            ("null", "null"), ("null", "cable.example"), ("", "cable.example"), ("cable.example", "cable.example"),
            ("https://evil.example", "cable.example"), ("https://cable.example.evil.example", "cable.example"),
            ("https://evilcable.example", "cable.example"), ("https://example", "cable.example"),
            ("https://cable.example/", "cable.example"), ("https://cable.example/x", "cable.example"),
            ("https://user@cable.example", "cable.example"), ("https://cable.example@evil.example", "cable.example"),
            ("https://cable.example:x", "cable.example"), ("https://cable.example:443:1", "cable.example"),
            ("https://cable.example:654321", "cable.example"), ("https:/cable.example", "cable.example"),
            ("https:cable.example", "cable.example"), ("://cable.example", "cable.example"),
            ("1https://cable.example", "cable.example"), ("ht_tps://cable.example", "cable.example"),
            ("https://cable.example https://cable.example", "cable.example"),
            ("https://cable.example, https://cable.example", "cable.example"),
            ("https://cable.example#", "cable.example"), ("https://cable.example?", "cable.example"),
            ("https://", "cable.example"), ("https://:443", "cable.example"), ("https://[", "[::1]"),
            ("https://[]", "[::1]"), ("https://[::1", "[::1]"), ("https://[::1]x", "[::1]"), ("https://[x]", "[::1]"),
            ("https://cable.example.", "cable.example"), ("https://caf\u{212A}.example", "cafk.example"),
        ]
    )
    func otherHost(origin: String, host: String) throws {
        let request = try request(["Origin: \(origin)"], host: host)
        #expect(request.origin == .otherHost)
        #expect(originRefusal(request) == .forbiddenOrigin)
    }

    @Test(
        "a Host that is no host with an optional port is refused, also without Origin",
        arguments: [
            ":443", "[", "[]", "[::1", "[::1]x", "::1", "[x]", "cable.example/", "user@cable.example",
            "https://cable.example", "b\u{FC}cher.example", String(repeating: "a", count: 256),
        ]
    )
    func otherHosts(host: String) {
        for fields in [[], ["Origin: https://\(host)"]] {
            #expect(throws: UpgradeRefusal.missingHost) { try request(fields, host: host) }
        }
    }

    @Test("two Origins are refused, even if both are right")
    func twoOrigins() throws {
        let request = try request(["Origin: https://cable.example", "origin: https://cable.example"])
        #expect(originRefusal(request) == .forbiddenOrigin)
    }

    // MARK: Authorization

    @Test(
        "a token follows the scheme in any case, as in RFC 6750",
        arguments: ["Bearer abc", "bearer abc", "BEARER abc", "Bearer   abc", "Bearer abc \t"]
    )
    func token(field: String) throws {
        let expected = try #require(TunnelTokenHash(hashing: "abc".utf8))
        let request = try request(["Authorization: \(field)"])
        #expect(token(request) == .success(expected))
    }

    @Test("different tokens are not equal", arguments: ["ABC", "ab", "abcd", "abc=", "ab-._~+/==", "0"])
    func otherTokens(text: String) throws {
        let expected = try #require(TunnelTokenHash(hashing: text.utf8))
        #expect(expected != TunnelTokenHash(hashing: "abc".utf8))
        let request = try request(["Authorization: Bearer \(text)"])
        #expect(token(request) == .success(expected))
    }

    @Test(
        "without a Bearer token there is none",
        arguments: [
            [], ["Authorization: Basic abc"], ["Authorization: Bearerabc"], ["Authorization:"], ["Authorization: x"],
        ]
    )
    func noToken(fields: [String]) throws {
        #expect(token(try request(fields)) == .success(nil))
    }

    @Test(
        "a malformed token is refused like a wrong one",
        arguments: [
            "Bearer", "Bearer ", "Bearer a b", "Bearer a,b", "Bearer \"abc\"", "Bearer a=b", "Bearer =", "Bearer ===",
            "Bearer a\tb", "Bearer \u{E9}", "Bearer a%20", "Bearer \(String(repeating: "a", count: 506))",
        ]
    )
    func malformed(field: String) throws {
        #expect(token(try request(["Authorization: \(field)"])) == .failure(.tokenWrong))
    }

    @Test("one field of up to 512 bytes is read")
    func bounds() throws {
        let longest = String(repeating: "a", count: 505)
        #expect(
            token(try request(["Authorization: Bearer \(longest)"])) == .success(TunnelTokenHash(hashing: longest.utf8))
        )
        let twice = ["Authorization: Bearer abc", "authorization: Bearer abc"]
        #expect(token(try request(twice)) == .failure(.duplicateField))
    }

    @Test("neither a token nor its hash is printed")
    func hidden() throws {
        let secret = "s3cr3t-t0ken-0123456789"
        let request = try request(["Authorization: Bearer \(secret)"])
        let token = try #require(try request.bearerToken())
        let words = (0..<4).map { token.digest[$0] }
        for text in Shown.texts(request) + Shown.texts(token) + Shown.texts(request.origin) {
            #expect(!text.contains("s3cr3t") && !text.contains("t0ken"))
            for word in words {
                #expect(!text.contains("\(word)") && !text.lowercased().contains(String(word, radix: 16)))
            }
        }
        #expect("\(token)" == "TunnelTokenHash(hidden)")
    }
}
