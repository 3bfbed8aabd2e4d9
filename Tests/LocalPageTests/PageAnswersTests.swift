// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Testing

@testable import HybridLocalPage

@Suite("What the page's server answers")
struct PageAnswersTests {
    @Test("the token is good for one request, which gets a cookie that no script and no other page can use")
    func token() throws {
        var asking = Asking()
        let first = asking.reply(asking.tokenPath, [("Sec-Fetch-Site", "none")])
        #expect(first.answer?.status == .ok && !first.isOpenedAgain && asking.answers.isTokenUsed)
        let cookie = try #require(first.headers["Set-Cookie"].first)
        #expect(cookie == "hybrid-4711=\(asking.cookie.hexadecimal); Path=/; HttpOnly; SameSite=Strict")
        #expect(first.answer?.body.contains(asking.token.hexadecimal) == false)
        let second = asking.reply(asking.tokenPath)
        #expect(second.answer?.status == .gone && second.isOpenedAgain && second.headers["Set-Cookie"] == [])
    }

    @Test("no other token opens it, and trying uses up nothing")
    func wrongToken() {
        var asking = Asking()
        let right = asking.token.hexadecimal
        let last = right.hasSuffix("0") ? "1" : "0"
        for wrong in [
            "", "0", PageKey().hexadecimal, asking.cookie.hexadecimal, right.uppercased() + "x", right + "0",
            String(right.dropLast()), right.dropLast() + last, right + "?", right + "/", "/" + right, "%30" + right,
            String(repeating: "é", count: 16), String(repeating: "0", count: 100_000),
        ] {
            #expect(asking.status("/open/" + wrong) == 404, "\(wrong.prefix(80))")
        }
        #expect(!asking.answers.isTokenUsed)
        #expect(asking.status(asking.tokenPath) == 200)
    }

    @Test("page and events are for the cookie alone")
    func cookie() {
        var asking = Asking()
        let value = asking.cookie.hexadecimal
        for path in ["/", "/events"] {
            #expect(asking.status(path) == 403)
            for wrong in [
                "", "hybrid-4711=", "hybrid-4711", "hybrid-4712=\(value)", "hybrid-4711=\(asking.token.hexadecimal)",
                "hybrid-4711=\(value)0", "hybrid-4711 =\(value)", "xhybrid-4711=\(value)", "hybrid-4711=\"\(value)\"",
                ";;;=;", value,
            ] {
                #expect(asking.status(path, [("Cookie", wrong)]) == 403, "\(path) \(wrong)")
            }
            #expect(asking.status(path, [asking.cookieField]) == 200)
            #expect(asking.status(path, [("Cookie", "a=b; hybrid-4711=\(value);c=d")]) == 200)
            #expect(asking.status(path, [("Cookie", "hybrid-4711=0"), asking.cookieField]) == 200)
        }
        #expect(asking.reply("/events", [asking.cookieField]).isStream)
        #expect(!asking.answers.isTokenUsed)
    }

    @Test(
        "a host that is not exactly the page's own gets nothing, whatever it knows",
        arguments: [
            [], [""], ["127.0.0.1"], ["localhost:4711"], ["127.0.0.1:4712"], ["127.0.0.1:04711"], ["127.0.0.1:4711."],
            ["evil.example:4711"], ["evil.example"], ["[::1]:4711"], ["127.1:4711"], ["user@127.0.0.1:4711"],
            ["127.0.0.1:4711", "127.0.0.1:4711"], ["127.0.0.1:4711", "evil.example"], ["127.0.0.1:4711, evil.example"],
        ]
    )
    func host(hosts: [String]) {
        var asking = Asking()
        for path in [asking.tokenPath, "/", "/events", "/nothing"] {
            #expect(asking.status(path, hosts: hosts, [asking.cookieField]) == 421)
        }
        #expect(!asking.answers.isTokenUsed)
    }

    @Test(
        "other origins get nothing, whatever they know",
        arguments: [
            "null", "", "http://localhost:4711", "https://127.0.0.1:4711", "http://127.0.0.1", "http://127.0.0.1:4712",
            "http://127.0.0.1:4711/", "HTTP://127.0.0.1:4711", "http://evil.example", "file://",
        ]
    )
    func origin(origin: String) {
        var asking = Asking()
        for path in [asking.tokenPath, "/", "/events"] {
            #expect(asking.status(path, [("Origin", origin), asking.cookieField]) == 403)
            let both = [("Origin", "http://127.0.0.1:4711"), ("Origin", origin), asking.cookieField]
            #expect(asking.status(path, both) == 403)
        }
        #expect(!asking.answers.isTokenUsed)
        #expect(asking.status("/", [("Origin", "http://127.0.0.1:4711"), asking.cookieField]) == 200)
    }

    @Test("what a browser says of who asks is believed")
    func fetchSite() {
        var asking = Asking()
        for site in ["cross-site", "same-site", "", "None", "same-origin, none"] {
            for path in [asking.tokenPath, "/", "/events"] {
                #expect(asking.status(path, [("Sec-Fetch-Site", site), asking.cookieField]) == 403, "\(site) \(path)")
            }
        }
        #expect(asking.status("/events", [("Sec-Fetch-Site", "none"), asking.cookieField]) == 403)
        #expect(asking.status("/events", [("Sec-Fetch-Site", "same-origin"), asking.cookieField]) == 200)
        #expect(asking.status("/", [("Sec-Fetch-Site", "none"), asking.cookieField]) == 200)
        #expect(!asking.answers.isTokenUsed)
    }

    @Test("only GET is answered, and other methods use up nothing", arguments: ["HEAD", "POST", "OPTIONS", "PUT", "X"])
    func method(name: String) {
        var asking = Asking()
        for path in [asking.tokenPath, "/", "/events"] {
            let reply = asking.reply(path, method: HTTPMethod(rawValue: name), [asking.cookieField])
            #expect(reply.answer?.status == .methodNotAllowed && reply.headers["Allow"] == ["GET"])
        }
        #expect(!asking.answers.isTokenUsed)
    }

    @Test(
        "there is nothing else",
        arguments: ["", "*", "/favicon.ico", "/?", "//", "/events/", "/events?x", "/open", "http://127.0.0.1:4711/"]
    )
    func nothingElse(path: String) {
        var asking = Asking()
        #expect(asking.status(path, [asking.cookieField]) == 404)
    }

    @Test("it can't be open more often than its limit says")
    func streams() {
        var asking = Asking()
        #expect(asking.reply("/events", [asking.cookieField], streams: 3).isStream)
        #expect(asking.status("/events", [asking.cookieField], streams: 4) == 503)
    }

    @Test("every answer forbids keeping, framing, guessing, referring and reading by others")
    func protection() {
        var asking = Asking()
        let replies = [
            asking.reply("/"), asking.reply("/", hosts: []), asking.reply("/", [("Origin", "null")]),
            asking.reply("/", method: .POST), asking.reply("/none"), asking.reply(asking.tokenPath),
            asking.reply(asking.tokenPath), asking.reply("/", [asking.cookieField]),
            asking.reply("/events", [asking.cookieField]), asking.reply("/events", [asking.cookieField], streams: 9),
        ]
        #expect(replies.map { $0.answer?.status.code ?? 200 } == [403, 421, 403, 405, 404, 200, 410, 200, 200, 503])
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

    @Test("script and style bear a nonce of this answer alone, and nothing comes from elsewhere")
    func nonces() throws {
        var asking = Asking()
        var seen: Set<String> = []
        for _ in 0..<20 {
            let answer = try #require(asking.reply("/", [asking.cookieField]).answer)
            let policy = try #require(answer.headers["Content-Security-Policy"].first)
            let nonces = answer.body.split(separator: "nonce=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
            #expect(nonces.count == 2 && Set(nonces).count == 1)
            let nonce = try #require(nonces.first)
            #expect(policy.contains("script-src 'nonce-\(nonce)';") && policy.contains("style-src 'nonce-\(nonce)';"))
            #expect(nonce.count == 32 && seen.insert(String(nonce)).inserted)
            #expect(!answer.body.contains("http://") && !answer.body.contains("https://"))
            #expect(!answer.body.contains("src=") && !answer.body.contains("innerHTML"))
            #expect(answer.body.split(separator: "href=").count == 2 && answer.body.contains("href=\"data:,\""))
            #expect(!answer.body.contains("style=") && !answer.body.contains("onclick"))
            #expect(!answer.body.contains(asking.cookie.hexadecimal) && !answer.body.contains(asking.token.hexadecimal))
        }
    }

    @Test("keys do not print themselves")
    func hidden() {
        let key = PageKey()
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!"\(key) \(String(reflecting: key)) \(dumped)".contains(key.hexadecimal))
        #expect(PageKey(hexadecimal: key.hexadecimal) == key && PageKey() != key)
    }
}
