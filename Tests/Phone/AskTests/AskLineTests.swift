// SPDX-License-Identifier: Apache-2.0

import HybridPinentry
import Testing

@testable import HybridAsk

/// Returns the line that a text is parsed to.
func askLine(_ text: String) -> AskLine? { askLine(Array(text.utf8)) }

/// Returns the line that bytes are parsed to.
func askLine(_ bytes: [UInt8]) -> AskLine? { bytes.withUnsafeBytes { AskLine($0) } }

extension PinentrySecret {
    /// The input as text.
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

@Suite("Lines of a program that asks")
struct AskLineTests {
    @Test("Each member is read")
    func members() throws {
        #expect(askLine(#"{"ready":1}"#)?.isGreeting(of: 1) == true)
        let line = try #require(askLine(#" { "answer" : 12 , "pin" : "12 \"34" } "#))
        #expect(line.answer == 12)
        #expect(line.pin?.text == #"12 "34"#)
        #expect(askLine(#"{"answer":0,"secret":""}"#)?.secret?.count == 0)
        #expect(askLine(#"{"answer":999999999,"account":63}"#)?.account == 63)
        #expect(askLine(#"{"agree":true,"answer":1}"#)?.agree == true)
        #expect(askLine(#"{"decline":false}"#)?.decline == false)
        #expect(askLine(#"{"\u0061nswer":1}"#)?.answer == 1)
    }

    @Test(
        "Escapes are decoded",
        arguments: [
            (#"\" \\ \/ \b \f \n \r \t"#, "\" \\ / \u{8} \u{C} \n \r \t"), (#"\u0041\u00e4\u20AC"#, "Aä€"),
            (#"\ud83d\ude00"#, "😀"), (#"\u0000"#, "\0"), ("ä€😀", "ä€😀"), (#"\ud7ff\ue000"#, "\u{D7FF}\u{E000}"),
            (#"\udbff\udfff"#, "\u{10FFFF}"),
        ]
    )
    func escapes(escaped: String, text: String) {
        #expect(askLine("{\"pin\":\"\(escaped)\"}")?.pin?.text == text)
    }

    @Test(
        "Anything else is malformed",
        arguments: [
            "", " ", "{}", "[]", "null", "1", "\"pin\"", "{", "}", "{\"ready\"}", "{\"ready\":}", "{\"ready\":1",
            "{\"ready\":1,}", "{\"ready\":1}}", "{\"ready\":1}{\"ready\":1}", "{\"ready\":1} x", "{ready:1}",
            "{'ready':1}", "{\"ready\" 1}", "{,\"ready\":1}", "{\"ready\":1;\"answer\":1}",
            // Names: unknown, twice, twice by an escape, in another case.
            "{\"answer\":1,\"text\":\"\"}", "{\"answer\":1,\"answer\":1}", "{\"pin\":\"1\",\"pin\":\"1\"}",
            "{\"answer\":1,\"\\u0061nswer\":1}", "{\"Answer\":1}", "{\"\":1}", "{\"answer \":1}",
            // Values of another type.
            "{\"answer\":\"1\"}", "{\"answer\":true}", "{\"answer\":null}", "{\"answer\":[1]}", "{\"answer\":{}}",
            "{\"pin\":1234}", "{\"pin\":null}", "{\"pin\":[\"1\"]}", "{\"agree\":1}", "{\"agree\":\"true\"}",
            "{\"agree\":tru}", "{\"agree\":truefalse}", "{\"decline\":True}",
            // Numbers that are not whole, or too large.
            "{\"answer\":-1}", "{\"answer\":+1}", "{\"answer\":01}", "{\"answer\":1.0}", "{\"answer\":1e0}",
            "{\"answer\":1234567890}", "{\"answer\":0x1}", "{\"account\":-0}",
            // Strings.
            "{\"pin\":\"1}", "{\"pin\":\"\\x\"}", "{\"pin\":\"\\u12\"}", "{\"pin\":\"\\u12g4\"}", "{\"pin\":\"\\\"}",
            "{\"pin\":\"\\ud83d\"}", "{\"pin\":\"\\ud83d\\ud83d\"}", "{\"pin\":\"\\ude00\"}", "{\"pin\":\"a\tb\"}",
            "{\"pin\":\"a\nb\"}", "{\"pin\":\"a\0b\"}", "\u{FEFF}{\"ready\":1}", "{\"ready\":1}\0",
        ]
    )
    func malformed(text: String) {
        #expect(askLine(text) == nil)
    }

    @Test(
        "Bytes that are not UTF-8 are malformed",
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]]
    )
    func invalid(bytes: [UInt8]) {
        let (head, tail) = (Array(#"{"pin":""#.utf8), Array(#""}"#.utf8))
        #expect(askLine(head + tail) != nil)
        #expect(askLine(head + bytes + tail) == nil)
    }

    @Test("A secret that is too long is malformed")
    func long() {
        let longest = String(repeating: "x", count: PinentrySecret.maximumLength)
        #expect(askLine("{\"secret\":\"\(longest)\"}")?.secret?.text == longest)
        #expect(askLine("{\"secret\":\"\(longest)x\"}") == nil)
        #expect(askLine("{\"secret\":\"\(longest)\\u0041\"}") == nil)
        #expect(askLine("{\"\(longest)x\":1}") == nil)
    }

    @Test("A greeting has the version and nothing else")
    func greeting() {
        #expect(askLine(#"{"ready":2}"#)?.isGreeting(of: 1) == false)
        for other in [#""answer":1"#, #""pin":"""#, #""secret":"""#, #""account":0"#, #""agree":true"#] {
            #expect(askLine("{\"ready\":1,\(other)}")?.isGreeting(of: 1) == false)
        }
        #expect(askLine(#"{"ready":1,"decline":true}"#)?.isGreeting(of: 1) == false)
    }
}
