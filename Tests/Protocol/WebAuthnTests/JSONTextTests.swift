// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import Testing

@Suite("Strict JSON")
struct JSONTextTests {
    private func parsed(_ text: String) throws(JSONSyntaxError) -> JSONText {
        try JSONText(parsing: Array(text.utf8))
    }

    private func error(_ bytes: [UInt8]) -> JSONSyntaxError? {
        do throws(JSONSyntaxError) {
            _ = try JSONText(parsing: bytes)
            return nil
        } catch {
            return error
        }
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
            "{a:1}", "{1:1}", "'a'", #""a"#, #""\"#, #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud800""#,
            #""\ud800\u0041""#,
            #""\udc00""#, "\"\n\"", "\"\0\"", "01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN", "Infinity", "1 1",
            "[] x",
            "\u{FEFF}{}", "// x", "[]//",
        ]
    )
    func malformed(text: String) {
        #expect(error(Array(text.utf8)) == .malformed)
    }

    @Test("bytes that are not UTF-8 are rejected", arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xC3]])
    func encoding(bytes: [UInt8]) {
        #expect(error([0x22] + bytes + [0x22]) == .malformed)
    }

    @Test("a name may appear once in an object; names are compared as bytes")
    func names() throws {
        #expect(error(Array(#"{"a":1,"b":2,"\u0061":3}"#.utf8)) == .repeatedName)
        #expect(error(Array(#"[{"x":{"a":1,"a":1}}]"#.utf8)) == .repeatedName)
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

    @Test("each truncation of an object is rejected")
    func truncation() {
        let text = Array(#"{"a":[1,"\u00e9é",{"b":null}],"c":-1.5e3}"#.utf8)
        for length in 0..<text.count { #expect(error(Array(text[..<length])) == .malformed, "\(length)") }
        #expect(error(text) == nil)
    }
}
