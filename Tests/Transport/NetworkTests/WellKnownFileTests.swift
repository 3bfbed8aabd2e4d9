// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridNetwork

@Suite("Well-known files")
struct WellKnownFileTests {
    @Test(
        "application/json is accepted in any case, with or without parameters",
        arguments: [
            ("application/json", true), ("Application/JSON", true), ("application/json;charset=utf-8", true),
            (" application/json \t; x=y", true), ("application/json,text/plain", false), ("application/jsonp", false),
            ("application/problem+json", false), ("text/json", false), ("application /json", false), ("", false),
            (";", false),
        ]
    )
    func mediaType(value: String, isJSON: Bool) {
        #expect(MediaType.isJSON(value) == isJSON)
    }

    private static func pages(_ json: String) throws(WellKnownFileError) -> PasskeyEndpoints {
        try PasskeyEndpoints(json: Array(json.utf8))
    }

    @Test("the pages of a site are optional, and other members are ignored")
    func pages() throws {
        let both = try Self.pages(#"{"enroll":"https://a.example/e","manage":"https://a.example:8443/m?x#y","z":[1]}"#)
        #expect(both.enroll == "https://a.example/e" && both.manage == "https://a.example:8443/m?x#y")
        let none = try Self.pages("{}")
        #expect(none.enroll == nil && none.manage == nil)
    }

    @Test(
        "other values than https URLs with host names are rejected",
        arguments: [
            "1", "null", "[]", #""""#, #""http://a.example/""#, #""javascript:alert(1)""#, #""//a.example/""#,
            #""https://a.example@b.example/""#, #""https://192.0.2.1/""#, #""https://[2001:db8::1]/""#,
            #""https://a.example\\@b.example/""#, #""https://a.example/\u001b[2J""#, #""https://a.example/ x""#,
            #""https://b\u00fccher.example/""#, #""https:///m""#,
        ]
    )
    func rejected(value: String) {
        #expect(throws: WellKnownFileError.self) { try Self.pages("{\"manage\":\(value)}") }
        #expect(throws: WellKnownFileError.self) { try Self.pages("{\"enroll\":\(value)}") }
    }

    @Test("files and links are bounded")
    func bounds() throws {
        let link = "https://a.example/"
        let long = link + String(repeating: "x", count: 2048 - link.utf8.count)
        #expect(try Self.pages("{\"manage\":\"\(long)\"}").manage == long)
        #expect(throws: WellKnownFileError.self) { try Self.pages("{\"manage\":\"\(long)x\"}") }
        let room = PasskeyEndpoints.maximumBytes - 2
        _ = try Self.pages("{}" + String(repeating: " ", count: room))
        #expect(throws: WellKnownFileError.self) { try Self.pages("{}" + String(repeating: " ", count: room + 1)) }
    }
}
