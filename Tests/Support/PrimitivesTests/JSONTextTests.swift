// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import Testing

@Suite("Strict JSON")
struct JSONTextTests {
    private func parsed(_ text: String) throws(JSONSyntaxError) -> JSONText {
        try JSONText(parsing: Array(text.utf8))
    }

    private func error(_ bytes: [UInt8], maximumValues: Int = JSONText.maximumValues) -> JSONSyntaxError? {
        do throws(JSONSyntaxError) {
            _ = try JSONText(parsing: bytes, maximumValues: maximumValues)
            return nil
        } catch {
            return error
        }
    }

    @Test("printed text changes nothing on a terminal, and client data escapes what browsers escape")
    func printing() {
        let text = JSONText.string("a\u{1B}[31m\u{202E}b\u{2028}\u{200B}\u{E000}\n\t\"\\é🔑")
        let safe = #""a\u001b[31m\u202eb\u2028\u200b\ue000\n\t\"\\é🔑""#
        #expect(text.description == safe && text.serialized(.terminalSafe) == safe)
        let clientData = "\"a\\u001b[31m\u{202E}b\u{2028}\u{200B}\u{E000}\\u000a\\u0009\\\"\\\\é🔑\""
        #expect(text.serialized(.clientData) == clientData)
    }

    @Test(
        "values keep order, numbers and characters",
        arguments: [
            (
                #" { "b" : [ 1 , -0.50e+3 , true , false , null ] , "a" : { } } "#,
                #"{"b":[1,-0.50e+3,true,false,null],"a":{}}"#
            ),
            ("12345678901234567890.5e400", "12345678901234567890.5e400"),
            (#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀""#, #""\"\\/\u0008\u000c\n\r\té😀é😀""#),
            ("[[],[[]]]", "[[],[[]]]"),
            ("0", "0"),
            ("-1", "-1"),
        ]
    )
    func values(text: String, expected: String) throws {
        #expect(try parsed(text).description == expected)
    }

    @Test(
        "other texts are rejected",
        arguments: [
            "", " ", "nul", "nulll", "tru", "[1,]", "[,1]", "[1 2]", "[1", "{", "{}}", #"{"a"}"#, #"{"a":}"#,
            #"{"a":1,}"#,
            "{a:1}", "{1:1}", "'a'", #""a"#, #""\"#, #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud800\x""#,
            #""\ud800\u12""#, #""\ud800\"#, "\"\n\"", "\"\0\"", "01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN",
            "Infinity", "1 1",
            "[] x",
            "\u{FEFF}{}", "// x", "[]//",
        ]
    )
    func malformed(text: String) {
        #expect(error(Array(text.utf8)) == .malformed)
    }

    @Test(
        "an escaped surrogate without its pair becomes U+FFFD, as in browsers",
        arguments: [
            (#""\ud800""#, "\u{FFFD}"), (#""\udc00""#, "\u{FFFD}"), (#""\ud800\u0041""#, "\u{FFFD}A"),
            (#""\ud800x""#, "\u{FFFD}x"), (#""\ud800\n""#, "\u{FFFD}\n"),
            (#""\udc00\ud83d\ude00""#, "\u{FFFD}😀"), (#""\ud800\uD83D\uDE00""#, "\u{FFFD}😀"),
            (#""\ud83d\ud83d""#, "\u{FFFD}\u{FFFD}"),
        ]
    )
    func surrogates(text: String, expected: String) throws {
        #expect(try parsed(text).text == expected)
    }

    @Test("members with a surrogate in their names are left out, and differ from each other")
    func surrogateNames() throws {
        for (names, kept) in [
            (#""\ud83d":1,"\ud83e":2,"a":3"#, 1), (#""\udc00":1,"\ufffd":2"#, 1), (#""a\ud800":1,"\ud800a":2"#, 0),
            (#""\uD7FF":1,"\uD800":2"#, 1), (#""\ud83d\ude00":1"#, 1),
        ] {
            guard case .object(let members) = try parsed("{\(names)}") else { continue }
            #expect(members.count == kept, "\(names)")
        }
        for names in [#""\ud83d":1,"\uD83D":2"#, #""\ufffd":1,"\uFFFD":2"#, #""\ud83d\ude00":1,"😀":2"#] {
            #expect(error(Array("{\(names)}".utf8))?.reason.contains("appears twice") == true, "\(names)")
        }
    }

    @Test("other encodings than UTF-8 are rejected, and a byte order mark unless the caller allows it")
    func encodings() throws {
        let utf16: [UInt8] = "{}".utf8.flatMap { byte -> [UInt8] in [byte, 0] }
        for mark: [UInt8] in [[], [0xFF, 0xFE]] { #expect(error(mark + utf16) == .malformed) }
        for mark: [UInt8] in [[], [0xFE, 0xFF]] { #expect(error(mark + Array(utf16.reversed())) == .malformed) }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        #expect(error(mark + Array("{}".utf8)) == .malformed)
        #expect(try JSONText(parsing: mark + Array("[1]".utf8), mayBeMarked: true).elements?.count == 1)
        #expect(throws: JSONSyntaxError.malformed) { try JSONText(parsing: mark + mark + [0x31], mayBeMarked: true) }
    }

    @Test("bytes that are not UTF-8 are rejected", arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xC3]])
    func encoding(bytes: [UInt8]) {
        #expect(error([0x22] + bytes + [0x22]) == .malformed)
    }

    @Test("a name may appear once in an object; names are compared as bytes")
    func names() throws {
        #expect(error(Array(#"{"a":1,"b":2,"\u0061":3}"#.utf8)) == .repeatedName("a"))
        #expect(error(Array(#"[{"x":{"a":1,"a":1}}]"#.utf8)) == .repeatedName("a"))
        #expect(error(Array(#"{"\ud800":1,"\uD800":2}"#.utf8)) == .repeatedName("\u{FFFD}"))
        #expect(JSONSyntaxError.repeatedName("id").reason == #"the member "id" appears twice"#)
        let long = JSONSyntaxError.repeatedName("\u{202E}\n" + String(repeating: "x", count: 1000)).reason
        #expect(long == "the member \"\(String(repeating: "x", count: 63))…\" appears twice")
        // Swift's strings would compare these as equal.
        let accents = try parsed(#"{"\u00e9":1,"e\u0301":2}"#)
        #expect(accents.member("e\u{301}")?.description == "2")
        #expect(try parsed(#"{"a":{"b":1},"b":{"a":2}}"#).member("b")?.member("a")?.description == "2")
    }

    @Test("the depth is limited")
    func depth() throws {
        func nested(_ count: Int) -> [UInt8] { Array((String(repeating: "[", count: count)).utf8) }
        let limit = JSONText.maximumDepth
        #expect(error(nested(limit) + String(repeating: "]", count: limit).utf8) == nil)
        #expect(error(nested(limit + 1) + String(repeating: "]", count: limit + 1).utf8) == .tooDeep)
        #expect(error(nested(1_000_000)) == .tooDeep)
        #expect(error(Array(String(repeating: #"{"a":"#, count: 100_000).utf8)) == .tooDeep)
    }

    @Test("the length and the number of values are limited")
    func size() {
        #expect(error([UInt8](repeating: 0x20, count: JSONText.maximumLength + 1)) == .tooLong)
        let text = Array(#"[1,{"a":[]},"x"]"#.utf8)
        #expect(error(text, maximumValues: 5) == nil)
        #expect(error(text, maximumValues: 4) == .tooManyValues(limit: 4))
        let many = Array(("[" + String(repeating: "0,", count: JSONText.maximumValues) + "0]").utf8)
        #expect(error(many)?.reason == "it has more than 131072 values")
    }

    @Test(
        "integers are exact",
        arguments: [
            ("60", 60), ("-0", 0), ("60.0", 60), ("6e1", 60), ("1.50e2", 150), ("120E-1", 12), ("0.00", 0), ("0e-5", 0),
            ("9007199254740993", 9_007_199_254_740_993), ("9223372036854775807", Int.max),
            ("-9223372036854775808", Int.min), ("9223372036854775808", nil), ("1.5", nil), ("12.0e-1", nil),
            ("9007199254740993.5", nil), ("1e400", nil), ("1e-9223372036854775808", nil), ("\"1\"", nil), ("true", nil),
        ] as [(String, Int?)]
    )
    func integers(text: String, expected: Int?) throws {
        #expect(try parsed(text).integer() == expected)
        let small = expected.flatMap { UInt8(exactly: $0) }
        #expect(try parsed(text).integer(UInt8.self) == small)
    }

    @Test("each truncation of an object is rejected")
    func truncation() {
        let text = Array(#"{"a":[1,"\u00e9é",{"b":null}],"c":-1.5e3}"#.utf8)
        for length in 0..<text.count { #expect(error(Array(text[..<length])) == .malformed, "\(length)") }
        #expect(error(text) == nil)
    }
}

@Suite("Members of JSON documents")
struct JSONCursorTests {
    private let document: JSONCursor

    init() throws {
        let text = #"{"a":{"list":[{"id":"x"},null,7],"flag":true,"none":null},"site.example":{"b":"c"}}"#
        document = JSONCursor(try JSONText(parsing: Array(text.utf8)), named: "the document")
    }

    @Test("members are read with their paths")
    func values() throws {
        let object = try document.member("a")
        let list = try object.member("list").elements
        #expect(try list[0].member("id").text == "x" && list[2].integer() == 7)
        #expect(try object.member("flag").boolean)
        for name in ["none", "other"] { #expect(try object.memberIfPresent(name)?.path == nil) }
        #expect(try document.members.map(\.name) == ["a", "site.example"])
        #expect(list[2].path == "a.list[2]" && document.path == "the document")
        #expect(try document.member("site.example").member("b").path == #"["site.example"].b"#)
    }

    @Test("errors state the path and the problem")
    func errors() throws {
        let object = try document.member("a")
        let list = try object.member("list").elements
        #expect(reason { _ = try document.text } == "the document has the wrong type")
        #expect(reason { _ = try document.elements } == "the document has the wrong type")
        #expect(reason { _ = try document.member("b") } == "b is missing")
        #expect(reason { _ = try object.member("none") } == "a.none is missing")
        #expect(reason { _ = try object.member("flag").text } == "a.flag has the wrong type")
        #expect(reason { _ = try object.member("flag").members } == "a.flag has the wrong type")
        #expect(reason { _ = try list[0].boolean } == "a.list[0] has the wrong type")
        #expect(reason { _ = try list[1].integer() } == "a.list[1] is missing")
        #expect(reason { _ = try list[2].memberIfPresent("x") } == "a.list[2] has the wrong type")
    }

    @Test("names of the sender are shortened and made safe in paths")
    func names() throws {
        let name = "\u{202E}" + String(repeating: "x", count: 1000)
        let json = JSONCursor(.object([(name, .object([]))]), named: "it")
        #expect(try json.member(name).path == "[\"\(String(repeating: "x", count: 63))…\"]")
    }

    private func reason(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return (error as? JSONMemberError)?.reason
        }
    }
}
