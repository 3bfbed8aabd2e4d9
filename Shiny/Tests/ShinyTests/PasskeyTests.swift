// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("Passkeys")
struct PasskeyTests {
    @Test("create an account and sign in, and each sign-in has a new session")
    func signIn() async throws {
        try await TestSite.run { site in
            let (client, device) = (SiteClient(site), TestAuthenticator())
            let created = try await client.register("ada", with: device)
            #expect(created.status == 200)
            #expect(created.passkeyIDs == [device.encodedID])
            let first = client.cookie
            let signedOut = try await client.post("/api/sign-out")
            #expect(signedOut.account == nil)
            #expect(signedOut.json["remembered"] as? String == "ada")
            let signedIn = try await client.signIn(with: device)
            #expect(signedIn.account?["name"] as? String == "ada")
            let stale = try await SiteClient(site, cookie: first).post("/api/session")
            #expect(stale.account == nil)
        }
    }

    @Test("of a page of another origin are refused", arguments: ["https://evil.example", "http://shiny.example"])
    func otherOrigin(origin: String) async throws {
        try await TestSite.run { site in
            let (client, device) = (SiteClient(site), TestAuthenticator())
            device.origin = origin
            let refused = try await client.register("ada", with: device)
            #expect(refused.error == "other-origin")
            device.origin = TestSite.relatedOrigin
            let created = try await client.register("ada", with: device)
            #expect(created.status == 200)
            device.origin = origin
            #expect(try await client.signIn(with: device).error == "other-origin")
        }
    }

    @Test("need a challenge of this session and this ceremony, once")
    func challenges() async throws {
        try await TestSite.run { site in
            let (client, device) = (SiteClient(site), TestAuthenticator())
            let names = ["name": "ada", "displayName": "Ada"]
            let options = try await client.post("/api/accounts/options", names).json
            // A response of another session leaves the challenge in place.
            let other = SiteClient(site)
            try await other.post("/api/session")
            #expect(try await other.post("/api/accounts", device.create(options)).error == "unknown-challenge")
            #expect(try await client.post("/api/accounts", device.create(options)).status == 200)
            #expect(try await client.post("/api/accounts", device.create(options)).error == "unknown-challenge")

            let requested = try await client.post("/api/sign-in/options", ["remembered": false]).json
            let response = try device.get(requested)
            #expect(try await client.post("/api/sign-in", response).status == 200)
            #expect(try await client.post("/api/sign-in", response).error == "unknown-challenge")

            // Options for a new account do not add a passkey to another one.
            let foreign = try await client.post("/api/accounts/options", ["name": "bea", "displayName": ""]).json
            let added = try await client.post("/api/passkeys", TestAuthenticator().create(foreign))
            #expect(added.error == "unknown-challenge")
        }
    }

    @Test("of another account are refused")
    func otherAccount() async throws {
        try await TestSite.run { site in
            let (ada, adas) = (SiteClient(site), TestAuthenticator())
            let (bea, beas) = (SiteClient(site), TestAuthenticator())
            try await ada.register("ada", with: adas)
            try await bea.register("bea", with: beas)
            try await ada.post("/api/sign-out")
            #expect(try await ada.signIn(with: beas, remembered: true).error == "credential-not-allowed")
            let handle = adas.userHandle
            adas.userHandle = beas.userHandle
            #expect(try await ada.signIn(with: adas).error == "other-account")
            adas.userHandle = handle
            #expect(try await ada.signIn(with: adas, remembered: true).account?["name"] as? String == "ada")
            // The ID of another account's passkey names nothing here.
            let id = ["id": beas.encodedID, "name": "Mine"]
            #expect(try await ada.post("/api/passkeys/rename", id).error == "no-such-passkey")
            #expect(try await ada.post("/api/passkeys/delete", id).error == "no-such-passkey")
        }
    }

    @Test("that were deleted are unknown, and the page learns which one; the last way in stays")
    func deleted() async throws {
        try await TestSite.run { site in
            let (client, first, second) = (SiteClient(site), TestAuthenticator(), TestAuthenticator())
            try await client.register("ada", with: first)
            #expect(try await client.post("/api/passkeys/delete", ["id": first.encodedID]).error == "last-way-in")
            let options = try await client.post("/api/passkeys/options", ["conditional": false]).json
            let excluded = options["excludeCredentials"] as? [[String: Any]]
            #expect(excluded?.compactMap { $0["id"] as? String } == [first.encodedID])
            #expect(try await client.post("/api/passkeys", second.create(options)).passkeyIDs.count == 2)
            let left = try await client.post("/api/passkeys/delete", ["id": first.encodedID])
            #expect(left.passkeyIDs == [second.encodedID])
            let refused = try await client.signIn(with: first)
            #expect(refused.status == 401)
            #expect(refused.error == "unknown-credential")
            #expect(refused.json["unknownCredential"] as? String == first.encodedID)
            // Nothing of it is left, so it can be registered again, and then only once.
            #expect(try await SiteClient(site).register("bea", with: first).status == 200)
            #expect(try await SiteClient(site).register("cleo", with: first).error == "already-registered")
        }
    }

    @Test("need the user's presence, except in an automatic upgrade")
    func presence() async throws {
        try await TestSite.run { site in
            let (client, device) = (SiteClient(site), TestAuthenticator())
            let account = ["name": "ada", "displayName": "Ada", "password": "tell no one"]
            #expect(try await client.post("/api/accounts/password", account).status == 200)
            device.flags = 0x18
            for (conditional, error) in [(false, "user-not-present"), (true, nil)] {
                let options = try await client.post("/api/passkeys/options", ["conditional": conditional]).json
                #expect(try await client.post("/api/passkeys", device.create(options)).error == error)
            }
        }
    }

    @Test("are for users who are signed in")
    func signedOut() async throws {
        try await TestSite.run { site in
            let client = SiteClient(site)
            let id = ["id": "AAAA", "name": "x"]
            for path in ["/api/passkeys/rename", "/api/passkeys/delete", "/api/passkeys", "/api/account/rename"] {
                #expect(try await client.post(path, id).error == "signed-out", "\(path)")
            }
            #expect(try await client.post("/api/passkeys/options", ["conditional": true]).error == "signed-out")
            let remembered = try await client.post("/api/sign-in/options", ["remembered": true])
            #expect(remembered.error == "no-account-remembered")
        }
    }
}
