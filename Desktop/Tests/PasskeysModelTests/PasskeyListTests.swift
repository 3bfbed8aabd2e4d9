// SPDX-License-Identifier: Apache-2.0

import HybridPasskeysModel
import Testing

@Suite("The list of passkeys")
struct PasskeyListTests {
    @Test("is grouped by site and sorted by account, hidden ones last")
    func groups() {
        let hidden = row(4, name: "aaron").replacing(#""hidden":false"#, with: #""hidden":true"#)
        let session = openSession(
            row(1, site: "github.com", name: "ada"),
            row(2, name: "bob"),
            row(3, name: "Ada"),
            hidden
        )
        let groups = session.passkeys.grouped()
        #expect(groups.map(\.title) == ["example.com", "github.com"])
        #expect(groups[0].passkeys.map(\.accountText) == ["Ada", "bob", "aaron"])
    }

    @Test(
        "is searched in sites, names and kinds",
        arguments: [
            ("", [1, 2, 3]), ("EXAMPLE", [1, 2]), ("example ada", [1]), ("lovelace", [1]), ("ssh", [3]),
            ("nothing", []),
            ("  bob  ", [2]), ("ada hub", []),
        ] as [(String, [Int])]
    )
    func search(text: String, expected: [Int]) {
        let key = row(3, site: "ssh:laptop", name: "x").replacing(#""sshKey":false"#, with: #""sshKey":true"#)
        let session = openSession(row(1, name: "ada", display: "Ada Lovelace"), row(2, name: "bob"), key)
        let found = session.passkeys.grouped(search: text).flatMap(\.passkeys).map(\.id)
        #expect(Set(found) == Set(expected.map(passkeyID)))
    }

    @Test("makes names of sites safe")
    func hostileNames() throws {
        let name = #"<b>x</b>&amp;\n\u202eevil\u200b\u0007"#
        let passkey = try #require(openSession(row(name: name, display: name)).passkeys.first)
        #expect(passkey.accountText == "bx/bamp;evil")
        #expect(passkey.secondNameText == nil)
        let site = try #require(openSession(row(site: #"exa\u202emple.com"#)).passkeys.first)
        #expect(site.siteText == "example.com")
        let long = try #require(openSession(row(name: String(repeating: "w", count: 60000))).passkeys.first)
        #expect(long.accountText.count == 64)
    }

    @Test("has words for what is missing")
    func missing() throws {
        let unusable = row(site: nil, name: "").replacing(#""usable":true"#, with: #""usable":false"#)
        let passkey = try #require(openSession(unusable).passkeys.first)
        #expect(passkey.siteText == "Unknown site" && passkey.accountText == "Made by a newer version")
        #expect(passkey.summary(clock) == "Can't be used by this version")
        let unnamed = try #require(openSession(row(name: "\\u200b", display: "")).passkeys.first)
        #expect(unnamed.accountText == "Unnamed account")
        let named = try #require(openSession(row(name: "", display: "Ada")).passkeys.first)
        #expect(named.accountText == "Ada" && named.secondNameText == nil)
    }

    @Test("says when a passkey was used")
    func summaries() throws {
        let used = try #require(openSession(row(more: #","lastUsed":1795940000"#)).passkeys.first)
        #expect(used.summary(clock) == "Used today")
        let key = row().replacing(#""sshKey":false"#, with: #""sshKey":true"#)
        let unused = try #require(openSession(key).passkeys.first)
        #expect(unused.summary(clock) == "SSH key · Never used")
        #expect(unused.kind == .sshKey(onlySSH: false))
        for time in ["-1", "0", "1e99", "null", "\"1\"", "253402300800"] {
            let passkey = try #require(openSession(row(more: #","lastUsed":\#(time)"#)).passkeys.first)
            #expect(passkey.summary(clock) == "Never used", "\(time)")
        }
    }

    @Test(
        "leaves out rows without a valid ID",
        arguments: [#""id":"F738""#, #""id":"f7""#, #""id":"../x""#, #""id":7"#, #""id":null"#, #""id":"""#]
    )
    func badID(member: String) {
        let bad = row().replacing(#""id":"f7380001""#, with: member)
        #expect(openSession(bad, row(2)).passkeys.map(\.id) == [passkeyID(2)])
    }
}
