// SPDX-License-Identifier: Apache-2.0

import HybridAskModel
import HybridPrimitives
import Testing

/// Random changes to valid lines, the same in every run.
@Suite("Damaged lines")
struct DamagedLineTests {
    private static let valid: [String] = [
        Line.pin(#""problem":{"code":"wrong","attemptsLeft":2},"finger":true,"warnings":["old-code"]"#),
        Line.pin(#""computer":"studio","linkCode":"042117","givesSecret":true"#),
        Line.account(Line.two, #","data":{"kind":"login","user":"root","hostKey":"SHA256:abc","weak":true}"#),
        Line.ask("create", #"\#(Line.site),"account":\#(Line.one),"replaces":[\#(Line.two)]"#),
        Line.ask("new-pin", #""minimum":4,"purpose":"create-vault","path":"/home/ada""#),
        Line.ask("recovery-code", #""groups":["AAAAA","BBBBB","CCCCC","DDDDD","EEEEE","FFFFF"],"path":"p""#),
        Line.ask("question", #""text":"a\n\nb","agree":"Replace""#),
        Line.ask("opened-link", #""relay":"cable.example","codeAge":500,"warnings":["old-code"]"#),
        #"{"withdraw":1,"because":"touched"}"#, #"{"state":"answered"}"#,
        #"{"end":"failed","code":"c","message":"m","remedy":"r"}"#,
    ]
    private static let pieces: [String] = [
        "\\u202e", "<b>", "\\n", "\u{0}", "\"", "{", "}", "[", ",", "-1", "1e9", "null", "true", "\\ud800", "é",
        "{name}",
        String(repeating: "a", count: 3000),
    ]

    @Test("show safe and bounded texts, and get well-formed answers", arguments: 0..<8)
    func damaged(seed: UInt64) throws {
        var random = RepeatableRandom(state: seed)
        var questions = 0
        for _ in 0..<2000 {
            var sheet = TimedSheet()
            for _ in 0..<3 { sheet.receive(Self.damaged(&random)) }
            if case .question(let content) = sheet.view.stage {
                questions += 1
                for text in Self.texts(content) {
                    #expect(text.utf8.count <= 2100)
                    #expect(text.unicodeScalars.allSatisfy(Self.isShown), "\(text)")
                }
                _ = sheet.model.agree(content.fields.map { _ in SecretBytes("1234") }, account: 0, at: sheet.now)
            }
            sheet.decline()
            for answer in sheet.answers { #expect(try JSONText(parsing: Array(answer.utf8)).member("answer") != nil) }
        }
        #expect(questions > 100, "many lines are still questions")
    }

    private static func texts(_ content: SheetContent) -> [String] {
        var texts = [content.heading, content.problem, content.note, content.decline].compactMap { $0 }
        texts += [content.question, content.agree] + content.subject + content.details + content.source
        return texts + content.warnings + content.groups + content.accounts.flatMap { [$0.name, $0.note ?? ""] }
    }

    /// Returns true for a character that neither breaks a line nor changes the appearance of others.
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: !scalar.properties.isBidiControl
        }
    }

    private static func damaged(_ random: inout RepeatableRandom) -> String {
        var line = valid[Int.random(in: 0..<valid.count, using: &random)]
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let start = line.index(line.startIndex, offsetBy: Int.random(in: 0...line.count, using: &random))
            let rest = line.distance(from: start, to: line.endIndex)
            let end = line.index(start, offsetBy: Int.random(in: 0...min(rest, 3), using: &random))
            line.replaceSubrange(start..<end, with: pieces[Int.random(in: 0..<pieces.count, using: &random)])
        }
        return line
    }
}

/// A random generator with the same numbers in every run (SplitMix64).
private struct RepeatableRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
