// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import Testing

@Suite("Relying party IDs")
struct RelyingPartyIDTests {
    private static let all = Set(RelyingPartyID.Kind.allCases)

    @Test("local names are accepted only if the caller asks for them")
    func kinds() {
        for (text, kind) in [
            ("example.com", .domain), ("ssh:", .ssh), ("ssh:A.b_c-9", .ssh), ("pam://Host.lan", .pam),
            ("pam://h/sudo", .pam),
        ]
            as [(String, RelyingPartyID.Kind)]
        {
            #expect(RelyingPartyID(text, accepting: Self.all)?.kind == kind)
            #expect(RelyingPartyID(text, accepting: [kind])?.text == text)
            #expect(RelyingPartyID(text, accepting: Self.all.subtracting([kind])) == nil)
            #expect((RelyingPartyID(text) != nil) == (kind == .domain))
        }
    }

    @Test("only local services have a local name")
    func localNames() {
        for (text, name) in [
            ("example.com", nil), ("ssh:", ""), ("ssh:a.b", "a.b"), ("pam://host", "host"),
            ("pam://h.lan/sudo", "h.lan"),
        ]
            as [(String, String?)]
        {
            #expect(RelyingPartyID(text, accepting: Self.all)?.localName == name)
        }
    }

    @Test("names that browsers open are accepted, even if RFC 1123 forbids them")
    func labels() {
        for text in ["my_app.example.com", "_.example.com", "app-.example.com", "a--b.example", "-app.example", "-.x"] {
            #expect(RelyingPartyID(text)?.kind == .domain, "\(text)")
        }
        for text in ["app!.example.com", "a..b", "my app.example", "My_app.example.com"] {
            #expect(RelyingPartyID(text) == nil, "\(text)")
        }
    }

    @Test("the length of a local name is bounded")
    func lengths() {
        for prefix in ["ssh:", "pam://"] {
            let name = String(repeating: "a", count: 200)
            #expect(RelyingPartyID(prefix + name, accepting: Self.all) != nil)
            #expect(RelyingPartyID(prefix + name + "a", accepting: Self.all) == nil)
        }
    }

    @Test(
        "other texts are rejected",
        arguments: [
            "", "ssh:a b", "ssh:a/b", "ssh://a", "ssh:a:b", "ssh:ä", "ssh:a\u{0}", "SSH:", "pam://", "pam:host",
            "pam:/host", "pam://a/b/c", "pam://a/", "pam:///b", "pam://a/b:c", "pam:///", "https://example.com",
            "io.systemd:x", "example.com:443", "xssh:",
        ]
    )
    func rejected(text: String) {
        #expect(RelyingPartyID(text, accepting: Self.all) == nil)
    }

    @Test("requests accept local names only if the caller asks for them")
    func requests() throws {
        let id = try #require(RelyingPartyID("ssh:", accepting: [.ssh]))
        var assertion = try Samples.request()
        assertion.relyingPartyID = id
        var creation = try Samples.creation()
        creation.relyingParty.id = id
        for request in [CTAPRequest.getAssertion(assertion), .makeCredential(creation)] {
            #expect(refusal(request.encoded)?.status == .invalidParameter)
            #expect(try CTAPRequest(parsing: request.encoded, accepting: [.ssh]) == request)
        }
    }
}
