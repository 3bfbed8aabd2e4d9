// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridShinyServer

@Suite("Requests")
struct RequestTests {
    @Test(
        "of other sites change nothing",
        arguments: [
            (["Origin": nil], 403, "other-origin"),
            (["Origin": "https://evil.example"], 403, "other-origin"),
            (["Origin": TestSite.relatedOrigin], 403, "other-origin"),
            (["Origin": "null"], 403, "other-origin"),
            (["Sec-Fetch-Site": "cross-site"], 403, "other-origin"),
            (["Content-Type": "text/plain"], 415, "not-json"),
            (["Content-Type": nil], 415, "not-json"),
            (["Host": "rebound.example"], 421, "other-host"),
        ] as [([String: String?], Int, String)]
    )
    func otherSites(fields: [String: String?], status: Int, error: String) async throws {
        try await TestSite.run { site in
            let (client, device) = (SiteClient(site), TestAuthenticator())
            try await client.register("ada", with: device)
            let refused = try await client.send("POST", "/api/sign-out", fields: fields)
            #expect(refused.status == status)
            #expect(refused.error == error)
            #expect(refused.field("Set-Cookie") == nil)
            #expect(try await client.post("/api/session").account != nil)
        }
    }

    @Test("are served for a related origin, too, with sessions of its own")
    func relatedOrigin() async throws {
        try await TestSite.run { site in
            let client = SiteClient(site)
            let fields = ["Host": "shiny-shop.example", "Origin": TestSite.relatedOrigin]
            let response = try await client.send("POST", "/api/session", fields: fields)
            #expect(response.status == 200)
        }
    }

    @Test("get a page with a strict policy, and cookies that only this site receives")
    func headers() async throws {
        try await TestSite.run { site in
            let client = SiteClient(site)
            for path in ["/", "/account", "/shiny.js", "/passkeys.js", "/shiny.css"] {
                let response = try await client.send("GET", path)
                #expect(response.status == 200)
                let policy = response.field("Content-Security-Policy")
                #expect(policy?.hasPrefix("default-src 'none'; script-src 'self'") == true)
                #expect(response.field("X-Content-Type-Options") == "nosniff")
                #expect(response.field("Set-Cookie") == nil)
            }
            let set = try #require(try await client.post("/api/session").field("Set-Cookie"))
            #expect(set.hasPrefix("__Host-session="))
            for attribute in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/"] {
                #expect(set.contains("; \(attribute)"))
            }
            #expect(try await client.send("GET", "/api/session").status == 404)
        }
    }

    @Test("get the files at well-known places")
    func wellKnown() async throws {
        try await TestSite.run { site in
            let client = SiteClient(site)
            let related = try await client.send("GET", "/.well-known/webauthn")
            #expect(related.json["origins"] as? [String] == [TestSite.relatedOrigin])
            #expect(related.field("Content-Type") == "application/json")
            let endpoints = try await client.send("GET", "/.well-known/passkey-endpoints").json
            #expect(endpoints["manage"] as? String == "https://shiny.example/account")
            #expect(endpoints["enroll"] as? String == "https://shiny.example/account#add")
        }
    }

    @Test("are bounded in length and time")
    func limits() async throws {
        try await TestSite.run { site in
            let client = SiteClient(site)
            let long = [UInt8](repeating: UInt8(ascii: " "), count: ShinyLimits().bodyBytes + 1)
            let cases = [
                ("/api/sign-in", long, "too-long"), ("/api/sign-in", Array("[".utf8), "malformed-response"),
                ("/api/sign-in/options", Array("[".utf8), "malformed"),
                ("/api/sign-in/options", Array(#"{"x":1,"x":2}"#.utf8), "malformed"),
            ]
            for (path, body, error) in cases {
                let response = try await client.send("POST", path, body)
                #expect(response.error == error)
            }
        }
        try await TestSite.run {
            $0.bodyTime = .milliseconds(200)
        } _: { site in
            let client = SiteClient(site)
            // A body that does not end.
            let slow = try await client.send("POST", "/api/sign-in", Array("{".utf8), fields: ["Content-Length": "2"])
            #expect(slow.error == "too-slow")
        }
        try await TestSite.run {
            $0.idleTime = .milliseconds(300)
        } _: { site in
            // A head that does not end.
            let answer = try await site.exchange(Array("POST / HTTP/1.1\r\nHost: sh".utf8))
            #expect(answer.isEmpty)
        }
    }
}

@Suite("Accounts")
struct AccountTests {
    @Test("do not reveal their names to wrong passwords, and pause after several")
    func passwords() async throws {
        try await TestSite.run {
            $0.wrongPasswords = 2
        } _: { site in
            let client = SiteClient(site)
            let account = ["name": "ada", "displayName": "", "password": "tell no one"]
            let short = ["name": "ada", "displayName": "", "password": "short"]
            #expect(try await client.post("/api/accounts/password", short).error == "unsuitable-password")
            #expect(try await client.post("/api/accounts/password", account).status == 200)
            try await client.post("/api/sign-out")
            let wrong = try await client.post("/api/sign-in/password", ["name": "ada", "password": "wrong"])
            let unknown = try await client.post("/api/sign-in/password", ["name": "bea", "password": "wrong"])
            #expect(wrong.body == unknown.body)
            #expect(wrong.status == unknown.status)
            let right = ["name": "ADA", "password": "tell no one"]
            #expect(try await client.post("/api/sign-in/password", right).status == 200)
            for _ in 1...2 { try await client.post("/api/sign-in/password", ["name": "ada", "password": "wrong"]) }
            #expect(try await client.post("/api/sign-in/password", right).error == "password-pause")
        }
    }

    @Test(
        "have unique names without hidden characters",
        arguments: ["", " ", "a\u{202E}b", "a\nb", String(repeating: "a", count: 65)]
    )
    func names(name: String) async throws {
        try await TestSite.run { site in
            let (client, device) = (SiteClient(site), TestAuthenticator())
            let options = try await client.post("/api/accounts/options", ["name": name, "displayName": "x"])
            #expect(options.error == "malformed-name")
            try await client.register(" ada ", with: device)
            let taken = try await client.post("/api/accounts/options", ["name": "Ada", "displayName": "x"])
            #expect(taken.error == "name-taken")
            let renamed = try await client.post("/api/account/rename", ["name": "ADA", "displayName": "Ada L."])
            #expect(renamed.account?["name"] as? String == "ADA")
            #expect(try await client.post("/api/account/rename", ["name": name, "displayName": "x"]).status == 400)
        }
    }

    @Test("and their passkeys are bounded")
    func bounds() async throws {
        try await TestSite.run {
            $0.accounts = 1
            $0.passkeys = 1
        } _: { site in
            let client = SiteClient(site)
            try await client.register("ada", with: TestAuthenticator())
            let options = try await client.post("/api/passkeys/options", ["conditional": false]).json
            let second = try await client.post("/api/passkeys", TestAuthenticator().create(options))
            #expect(second.error == "too-many-passkeys")
            let new = try await SiteClient(site).post("/api/accounts/options", ["name": "bea", "displayName": ""])
            #expect(new.error == "full")
        }
    }

    @Test("have sessions that end, and the least used one gives way")
    func sessions() {
        var sessions = Sessions(limit: 2, lifetime: .seconds(10))
        let start = ContinuousClock.now
        let (first, second) = (sessions.add(now: start), sessions.add(now: start + .seconds(1)))
        #expect(sessions.session(first.id, now: start + .seconds(2)) != nil)
        _ = sessions.add(now: start + .seconds(3))
        #expect(sessions.session(second.id, now: start + .seconds(4)) == nil)
        #expect(sessions.session(first.id, now: start + .seconds(12)) == nil)
        #expect(sessions.count == 1)
    }
}
