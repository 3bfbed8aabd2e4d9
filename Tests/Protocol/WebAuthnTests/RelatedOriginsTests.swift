// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridPrimitives
import HybridWebAuthn
import TestSupport
import Testing

@Suite("Related origins")
struct RelatedOriginsTests {
    private static let id = "party.example"

    private static func permission(
        _ json: String,
        _ origin: String = "https://www.shop.example"
    ) throws -> RelatedOrigin {
        let id = try #require(RelyingPartyID(id))
        return try RelatedOrigins(json: Array(json.utf8)).permission(for: Origin(origin), id)
    }

    private static func list(_ origins: [String]) -> String {
        "{\"origins\":[\(origins.map { "\"\($0)\"" }.joined(separator: ","))]}"
    }

    private static func isPermitted(_ json: String, _ origin: String = "https://www.shop.example") -> Bool {
        (try? permission(json, origin)) != nil
    }

    @Test("a byte order mark is no part of the file")
    func mark() {
        #expect(Self.isPermitted("\u{FEFF}" + Self.list(["https://www.shop.example"])))
        #expect(!Self.isPermitted("\u{FEFF}\u{FEFF}" + Self.list(["https://www.shop.example"])))
    }

    @Test("files of the vectors, which Chromium reads in the same way")
    func vectors() throws {
        let vectors = try VectorFile.load("related-origins.json")
        let caller = try vectors.text("origin")
        var tested = 0
        for vector in try vectors.list("cases") {
            // The others are about the response around the file, or malformed; the acceptance test has them all.
            let response = try vector.value("response")
            guard case .object(let members) = response, Set(members.keys) == ["json"],
                case .list(let origins)? = response["json"]?["origins"]
            else { continue }
            let texts = origins.compactMap { origin -> String? in
                guard case .text(let text) = origin else { return nil }
                return text.replacing("\n", with: "\\n")
            }
            guard texts.count == origins.count else { continue }
            let isAllowed = try vector.text("ours") == "allowed"
            let name = try vector.text("name")
            #expect(Self.isPermitted(Self.list(texts), caller) == isAllowed, "\(name)")
            tested += 1
        }
        #expect(tested == 17)
    }

    @Test(
        "the URL parser's rules decide which origin an entry has",
        arguments: [
            ("https:www.shop.example", true), ("https:\\\\\\\\www.shop.example\\\\x", true),
            ("https:////www.shop.example", true),
            ("ht\\ttps://www.shop.\\nexample", true), ("https://a:b@c@www.shop.example", true),
            ("https://www.shop.example:", true), ("https://www.shop.example:0443", true),
            ("https://www.shop.example:444", false), ("https://www.shop.example:x", false),
            ("https://www.shop.example:65979", false), ("https://www.shop.example.", false),
            ("https://other.example/www.shop.example", false), ("https://www.shop.example@other.example", false),
            ("https://other.example#@www.shop.example", false), ("wss://www.shop.example", false),
            ("//www.shop.example", false), ("https://*.shop.example", false), ("https://www.shop.exämple", false),
        ]
    )
    func parsing(entry: String, isPermitted: Bool) {
        #expect(Self.isPermitted(Self.list([entry])) == isPermitted)
    }

    @Test("five names count; an origin of a known name counts always")
    func labels() {
        let four = ["a", "b", "c", "d"].map { "https://\($0).example" }
        let five = four + ["https://e.example"]
        #expect(Self.isPermitted(Self.list(four + ["https://www.shop.example"])))
        #expect(!Self.isPermitted(Self.list(five + ["https://www.shop.example"])))
        #expect(Self.isPermitted(Self.list(five + ["https://x.y.a.example:8443"]), "https://x.y.a.example:8443"))
        #expect(Self.isPermitted(Self.list(five + ["https://a.co.uk"]), "https://a.co.uk"))
        #expect(!Self.isPermitted(Self.list(["https://co.uk"]), "https://co.uk"), "a public suffix has no name")
        #expect(!Self.isPermitted(Self.list(["http://localhost"]), "http://localhost"))
    }

    @Test(
        "malformed files are rejected",
        arguments: [
            "", "[]", "{}", #"{"origins":{}}"#, #"{"origins":"https://www.shop.example"}"#, #"{"origins":[1]}"#,
            #"{"origins":["https://www.shop.example",null]}"#,
            #"{"origins":[],"origins":["https://www.shop.example"]}"#,
            #"{"Origins":["https://www.shop.example"]}"#, #"{"origins":["https://www.shop.example"]} x"#,
        ]
    )
    func malformed(json: String) {
        #expect(throws: RelatedOrigins.ParseError.self) { try RelatedOrigins(json: Array(json.utf8)) }
    }

    @Test("the length is limited")
    func length() throws {
        let json = Array(Self.list(["https://www.shop.example"]).utf8)
        let padding = [UInt8](repeating: 0x20, count: RelatedOrigins.maximumBytes - json.count)
        _ = try RelatedOrigins(json: json + padding)
        #expect(throws: RelatedOrigins.ParseError.tooLong) { try RelatedOrigins(json: json + padding + [0x20]) }
    }

    @Test("a permission is for one origin and one relying party ID")
    func ceremonies() throws {
        let related = try Self.permission(Self.list(["https://www.shop.example"]))
        let options = try PublicKeyOptions(json: Array(Fixture.request(["rpId": "\"\(Self.id)\""]).utf8))
        let page = try Origin("https://www.shop.example")
        let ceremony = try Ceremony(options, origin: page, related: related)
        #expect(ceremony.relyingPartyID.text == Self.id)
        let creation = Fixture.creation(["rp": #"{"id":"party.example","name":"Party"}"#])
        let registration = try Ceremony(PublicKeyOptions(json: Array(creation.utf8)), origin: page, related: related)
        #expect(registration.relyingPartyID.text == Self.id)

        let other = try Origin("https://shop.example")
        #expect(throws: RelyingPartyIDError.self) { try Ceremony(options, origin: page) }
        #expect(throws: RelyingPartyIDError.self) { try Ceremony(options, origin: other, related: related) }
        let child = try PublicKeyOptions(json: Array(Fixture.request(["rpId": "\"a.party.example\""]).utf8))
        #expect(throws: RelyingPartyIDError.self) { try Ceremony(child, origin: page, related: related) }
        let own = try PublicKeyOptions(json: Array(Fixture.request(["rpId": "\"shop.example\""]).utf8))
        #expect(try Ceremony(own, origin: page, related: related).relyingPartyID.text == "shop.example")
    }

    @Test("only IDs of other domains and suffixes need the file, and errors name its URL")
    func errors() throws {
        func error(_ id: String, _ body: (Origin) throws -> Void) throws -> RelyingPartyIDError {
            try #require(throws: RelyingPartyIDError.self) { try body(Origin("https://www.shop.example")) }
        }
        let scope = { (id: String) in
            try error(id) { _ = try $0.relyingPartyID(claimed: id) }.relatedID?.text
        }
        #expect(try scope("party.example") == "party.example")
        #expect(try scope("example") == "example")
        #expect(try scope("Party.example") == nil, "malformed")
        let unlisted = try error(Self.id) { _ in _ = try Self.permission(Self.list([])) }
        #expect(unlisted.sentence.contains("https://party.example/.well-known/webauthn"))
        #expect(unlisted.name == .securityError && unlisted.status == .dataError && unlisted.relatedID == nil)
    }
}
