// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import Testing

@testable import HybridPromptModel

@Suite("JSON objects on one line")
struct JSONLineTests {
    private func read(_ text: String) -> JSONLine? { JSONLine(SecretBytes(text)) }

    @Test("texts, integers and booleans are read")
    func members() throws {
        let line = try #require(read(#" { "a" : "b" , "n":-12,"t":true,"f":false,"z":null,"e":"" } "#))
        #expect(line.text("a") == "b" && line.text("e") == "")
        #expect(line.integer("n") == -12)
        #expect(line.isTrue("t") && !line.isTrue("f") && !line.isTrue("z"))
        #expect(line.text("n") == nil && line.text("missing") == nil && line.integer("a") == nil)
    }

    @Test(
        "escape sequences are decoded",
        arguments: [
            (#""\u0041""#, "A"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\uD83D\uDE00""#, "😀"),
            (#""\u00e9é""#, "éé"), (#""\u0000""#, "\0"),
        ]
    )
    func escapes(value: String, expected: String) throws {
        #expect(try #require(read(#"{"a":\#(value)}"#)).text("a") == expected)
    }

    @Test("names are compared after decoding")
    func names() throws {
        #expect(try #require(read(#"{"\u0061":"b"}"#)).text("a") == "b")
        #expect(read(#"{"\u0061":1,"a":2}"#) == nil)
    }

    @Test(
        "anything but one JSON object is rejected",
        arguments: [
            "", " ", "{", "}", "[]", "1", "null", #""a""#, #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{,"a":1}"#,
            #"{"a":1}x"#, #"{"a":1}{"#, #"{"a" 1}"#, #"{a:1}"#, #"{'a':1}"#, #"{"a":01}"#, #"{"a":+1}"#, #"{"a":.5}"#,
            #"{"a":1.}"#, #"{"a":1e}"#, #"{"a":-}"#, #"{"a":tru}"#, #"{"a":True}"#, #"{"a":NaN}"#, #"{"a":"b}"#,
            #"{"a":"\x"}"#, #"{"a":"\u00g0"}"#, #"{"a":"\u12"}"#, #"{"a":"\uD83D"}"#, #"{"a":"\uDE00"}"#,
            #"{"a":"\uD83D\u0041"}"#, "{\"a\":\"\u{1}\"}", "{\"a\":\"\n\"}", #"{"a":[1,]}"#, #"{"a":[1}"#,
            #"{"a":1,"a":2}"#, #"{"a":{"b"}}"#,
        ]
    )
    func malformed(text: String) { #expect(read(text) == nil, "\(text)") }

    @Test("other values are checked, and ignored")
    func otherValues() throws {
        let line = try #require(read(#"{"o":{"a":[1,-2.5e+3,{}],"b":{}},"l":[],"d":1.5,"big":123456789012345678901}"#))
        #expect(line.text("o") == nil && line.integer("d") == nil && line.integer("big") == nil)
    }

    @Test("nesting and the number of members are limited")
    func limits() {
        func nested(_ depth: Int) -> String {
            #"{"a":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
        }
        #expect(read(nested(JSONLine.maximumDepth)) != nil)
        #expect(read(nested(JSONLine.maximumDepth + 1)) == nil)
        #expect(read(nested(4000)) == nil)
        func members(_ count: Int) -> String {
            "{" + (0..<count).map { #""\#($0)":1"# }.joined(separator: ",") + "}"
        }
        #expect(read(members(JSONLine.maximumMembers)) != nil)
        #expect(read(members(JSONLine.maximumMembers + 1)) == nil)
    }

    @Test("invalid UTF-8 is rejected")
    func encoding() {
        for bad: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF4, 0x90, 0x80, 0x80]] {
            #expect(JSONLine(SecretBytes(copying: Array(#"{"a":""#.utf8) + bad + Array(#""}"#.utf8))) == nil)
        }
    }

    @Test("truncated lines are rejected, and changed bytes never crash")
    func damage() {
        let line = Array(#"{"event":"qr","n":[1,{"x":null}],"text":"a\u00e9\uD83D\uDE00","elapsed_ms":12}"#.utf8)
        for count in 0..<line.count { #expect(JSONLine(SecretBytes(copying: Array(line[..<count]))) == nil) }
        for index in line.indices {
            for bit in 0..<8 {
                var changed = line
                changed[index] ^= 1 << bit
                let read = JSONLine(SecretBytes(copying: changed))
                _ = (read?.text("text"), read?.text("event"), read?.integer("elapsed_ms"), read?.isTrue("n"))
            }
        }
    }
}
