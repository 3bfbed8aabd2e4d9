// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Testing

@testable import HybridLocalPage

@Suite("Responses of the page's server")
struct PageResponderTests {
    @Test("the token works for one request, which gets a cookie that no script and no other page can use")
    func token() throws {
        var requests = TestRequests()
        let first = requests.reply(requests.tokenPath, [("Sec-Fetch-Site", "none")])
        #expect(first.response?.status == .ok && !first.isTokenReused && requests.responder.isTokenUsed)
        let cookie = try #require(first.headers["Set-Cookie"].first)
        #expect(cookie == "hybrid-4711=\(requests.cookie.hexadecimal); Path=/; HttpOnly; SameSite=Strict")
        #expect(first.response?.body.contains(requests.token.hexadecimal) == false)
        let second = requests.reply(requests.tokenPath)
        #expect(second.response?.status == .gone && second.isTokenReused && second.headers["Set-Cookie"] == [])
    }

    @Test("no other token opens the page, and attempts do not use up the token")
    func wrongToken() {
        var requests = TestRequests()
        let right = requests.token.hexadecimal
        let last = right.hasSuffix("0") ? "1" : "0"
        let wrongTokens: [String] = [
            "", "0", PageToken().hexadecimal, requests.cookie.hexadecimal, "\(right.uppercased())x", "\(right)0",
            "\(right.dropLast())", "\(right.dropLast())\(last)", "\(right)?", "\(right)/", "/\(right)", "%30\(right)",
            String(repeating: "é", count: 16), String(repeating: "0", count: 100_000),
        ]
        for wrong in wrongTokens {
            #expect(requests.status("/open/" + wrong) == 404, "\(wrong.prefix(80))")
        }
        #expect(!requests.responder.isTokenUsed)
        #expect(requests.status(requests.tokenPath) == 200)
    }

    @Test("page and events require the cookie")
    func cookie() {
        var requests = TestRequests()
        let value = requests.cookie.hexadecimal
        for path in ["/", "/events"] {
            #expect(requests.status(path) == 403)
            for wrong in [
                "", "hybrid-4711=", "hybrid-4711", "hybrid-4712=\(value)", "hybrid-4711=\(requests.token.hexadecimal)",
                "hybrid-4711=\(value)0", "hybrid-4711 =\(value)", "xhybrid-4711=\(value)", "hybrid-4711=\"\(value)\"",
                ";;;=;", value,
            ] {
                #expect(requests.status(path, [("Cookie", wrong)]) == 403, "\(path) \(wrong)")
            }
            #expect(requests.status(path, [requests.cookieField]) == 200)
            #expect(requests.status(path, [("Cookie", "a=b; hybrid-4711=\(value);c=d")]) == 200)
            #expect(requests.status(path, [("Cookie", "hybrid-4711=0"), requests.cookieField]) == 200)
        }
        #expect(requests.reply("/events", [requests.cookieField]).isStream)
        #expect(!requests.responder.isTokenUsed)
    }

    @Test(
        "a request with another Host is rejected, even with token or cookie",
        arguments: [
            [], [""], ["127.0.0.1"], ["localhost:4711"], ["127.0.0.1:4712"], ["127.0.0.1:04711"], ["127.0.0.1:4711."],
            ["evil.example:4711"], ["evil.example"], ["[::1]:4711"], ["127.1:4711"], ["user@127.0.0.1:4711"],
            ["127.0.0.1:4711", "127.0.0.1:4711"], ["127.0.0.1:4711", "evil.example"], ["127.0.0.1:4711, evil.example"],
        ]
    )
    func host(hosts: [String]) {
        var requests = TestRequests()
        for path in [requests.tokenPath, "/", "/events", "/nothing"] {
            #expect(requests.status(path, hosts: hosts, [requests.cookieField]) == 421)
        }
        #expect(!requests.responder.isTokenUsed)
    }

    @Test(
        "requests of other origins are rejected, even with token or cookie",
        arguments: [
            "null", "", "http://localhost:4711", "https://127.0.0.1:4711", "http://127.0.0.1", "http://127.0.0.1:4712",
            "http://127.0.0.1:4711/", "HTTP://127.0.0.1:4711", "http://evil.example", "file://",
        ]
    )
    func origin(origin: String) {
        var requests = TestRequests()
        for path in [requests.tokenPath, "/", "/events"] {
            #expect(requests.status(path, [("Origin", origin), requests.cookieField]) == 403)
            let both = [("Origin", "http://127.0.0.1:4711"), ("Origin", origin), requests.cookieField]
            #expect(requests.status(path, both) == 403)
        }
        #expect(!requests.responder.isTokenUsed)
        #expect(requests.status("/", [("Origin", "http://127.0.0.1:4711"), requests.cookieField]) == 200)
    }

    @Test("Sec-Fetch-Site of the browser is respected")
    func fetchSite() {
        var requests = TestRequests()
        for site in ["cross-site", "same-site", "", "None", "same-origin, none"] {
            for path in [requests.tokenPath, "/", "/events"] {
                #expect(
                    requests.status(path, [("Sec-Fetch-Site", site), requests.cookieField]) == 403,
                    "\(site) \(path)"
                )
            }
        }
        #expect(requests.status("/events", [("Sec-Fetch-Site", "none"), requests.cookieField]) == 403)
        #expect(requests.status("/events", [("Sec-Fetch-Site", "same-origin"), requests.cookieField]) == 200)
        #expect(requests.status("/", [("Sec-Fetch-Site", "none"), requests.cookieField]) == 200)
        #expect(!requests.responder.isTokenUsed)
    }

    @Test(
        "only GET is accepted, and other methods do not use up the token",
        arguments: ["HEAD", "POST", "OPTIONS", "PUT", "X"]
    )
    func method(name: String) {
        var requests = TestRequests()
        for path in [requests.tokenPath, "/", "/events"] {
            let reply = requests.reply(path, method: HTTPMethod(rawValue: name), [requests.cookieField])
            #expect(reply.response?.status == .methodNotAllowed && reply.headers["Allow"] == ["GET"])
        }
        #expect(!requests.responder.isTokenUsed)
    }

    @Test(
        "other paths are not found",
        arguments: ["", "*", "/favicon.ico", "/?", "//", "/events/", "/events?x", "/open", "http://127.0.0.1:4711/"]
    )
    func nothingElse(path: String) {
        var requests = TestRequests()
        #expect(requests.status(path, [requests.cookieField]) == 404)
    }

    @Test("event streams are limited")
    func streams() {
        var requests = TestRequests()
        #expect(requests.reply("/events", [requests.cookieField], streams: 3).isStream)
        #expect(requests.status("/events", [requests.cookieField], streams: 4) == 503)
    }

    @Test("every response forbids storing, framing, sniffing, referring and cross-origin reading")
    func protection() {
        var requests = TestRequests()
        let replies = [
            requests.reply("/"), requests.reply("/", hosts: []), requests.reply("/", [("Origin", "null")]),
            requests.reply("/", method: .POST), requests.reply("/none"), requests.reply(requests.tokenPath),
            requests.reply(requests.tokenPath), requests.reply("/", [requests.cookieField]),
            requests.reply("/events", [requests.cookieField]),
            requests.reply("/events", [requests.cookieField], streams: 9),
        ]
        #expect(replies.map { $0.response?.status.code ?? 200 } == [403, 421, 403, 405, 404, 200, 410, 200, 200, 503])
        for headers in replies.map(\.headers) {
            let policy = headers["Content-Security-Policy"].first ?? ""
            #expect(policy.hasPrefix("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe") && !policy.contains("*") && !policy.contains("http"))
            #expect(headers["Cache-Control"] == ["no-store"] && headers["Referrer-Policy"] == ["no-referrer"])
            #expect(headers["X-Content-Type-Options"] == ["nosniff"] && headers["X-Frame-Options"] == ["DENY"])
            #expect(headers["Cross-Origin-Opener-Policy"] == ["same-origin"])
            #expect(headers["Cross-Origin-Resource-Policy"] == ["same-origin"])
            #expect(headers["Access-Control-Allow-Origin"] == [] && headers["Connection"] == ["close"])
        }
    }

    @Test("script and style have a nonce of this response only, and nothing is loaded from elsewhere")
    func nonces() throws {
        var requests = TestRequests()
        var seen: Set<String> = []
        for _ in 0..<20 {
            let response = try #require(requests.reply("/", [requests.cookieField]).response)
            let policy = try #require(response.headers["Content-Security-Policy"].first)
            let nonces = response.body.split(separator: "nonce=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
            #expect(nonces.count == 2 && Set(nonces).count == 1)
            let nonce = try #require(nonces.first)
            #expect(policy.contains("script-src 'nonce-\(nonce)';") && policy.contains("style-src 'nonce-\(nonce)';"))
            #expect(nonce.count == 32 && seen.insert(String(nonce)).inserted)
            #expect(!response.body.contains("http://") && !response.body.contains("https://"))
            #expect(!response.body.contains("src=") && !response.body.contains("innerHTML"))
            #expect(response.body.split(separator: "href=").count == 2 && response.body.contains("href=\"data:,\""))
            #expect(!response.body.contains("style=") && !response.body.contains("onclick"))
            #expect(
                !response.body.contains(requests.cookie.hexadecimal)
                    && !response.body.contains(requests.token.hexadecimal)
            )
        }
    }

    @Test("keys are never printed")
    func hidden() {
        let key = PageToken()
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!"\(key) \(String(reflecting: key)) \(dumped)".contains(key.hexadecimal))
        #expect(PageToken(hexadecimal: key.hexadecimal) == key && PageToken() != key)
    }
}
