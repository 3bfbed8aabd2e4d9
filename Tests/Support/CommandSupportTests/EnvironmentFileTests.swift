// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridCommandSupport

@Suite("Environment files")
struct EnvironmentFileTests {
    @Test(
        "values as systemd.exec(5) describes them",
        arguments: [
            ("A=1", "1"), ("A=", ""), ("A=   ", ""), ("A= \t1 \t", "1"), ("A=a b", "a b"), ("A=1\r\n", "1"),
            ("A=1\r", "1"),
            ("  A=1", "1"), ("A=a=b", "a=b"), ("A=a # no comment", "a # no comment"), ("A=#", "#"), ("A=;x", ";x"),
            ("A=a'b'", "a'b'"), ("A=a\"b", "a\"b"), ("A=\\'a", "'a"), ("A=a\\\\b", "a\\b"), ("A=\\a\\b", "ab"),
            ("A=a\\ \n", "a "), ("A=a \\\nb", "a b"), ("A=a\\\n  b", "a  b"), ("A=\\\n  b", "  b"),
            ("A=a \\\n\n", "a "),
            ("A='a b'", "a b"), ("A='a\\b'", "a\\b"), ("A='a\nb'", "a\nb"), ("A='a\"b' \t\r\n", "a\"b"), ("A=''", ""),
            ("A=\"a b\"", "a b"), ("A=\"a\\\"\\\\\\`\\$\"", "a\"\\`$"), ("A=\"a\\nb\"", "a\\nb"),
            ("A=\"a\\\nb\"", "ab"),
            ("A=\"a\nb\"", "a\nb"), ("A=\"it's\"", "it's"), ("A=Grüße, 世界", "Grüße, 世界"), ("A=\u{1}", "\u{1}"),
            ("\r\nA=1", "1"), ("# c\r\nA=1", "1"), ("# c \\ d\nA=1", "1"),
        ]
    )
    func values(text: String, expected: String) throws {
        let assignments = try EnvironmentFile(Array(text.utf8)).assignments
        #expect(assignments.map(\.name) == ["A"])
        #expect(assignments.map(\.value) == [expected])
    }

    @Test(
        "errors are reported with their line",
        arguments: [
            ("A=1\nB", 2, "expected NAME=value"), ("A", 1, "expected NAME=value"), ("A =1", 1, "expected NAME=value"),
            ("export A=1", 1, "expected NAME=value"), ("=1", 1, "expected NAME=value"),
            ("1A=1", 1, "expected NAME=value"),
            ("A-B=1", 1, "expected NAME=value"), ("Ä=1", 1, "expected NAME=value"),
            ("A=1\n\nA=2", 3, "A was already given in line 1"),
            ("A='1\n\n", 1, "never closed"), ("\nA=\"1\\\"", 2, "never closed"), ("A=\"1\\", 1, "never closed"),
            ("A='1'2", 1, "may follow"), ("A='1' '2'", 1, "may follow"), ("A=\"a\nb\" # c", 2, "may follow"),
            ("A=1\nB=2\\", 2, "nothing follows the backslash"), ("A=1\\\r\n", 1, "nothing follows the backslash"),
            ("A=1\nB=2\\\n", 2, "nothing follows the backslash"),
            ("A=1\r2", 1, "carriage return"), ("# a\rA=1", 1, "carriage return"), ("\rA=1", 1, "carriage return"),
            ("# a\n# b\\\nA=1", 2, "a comment must not end"), ("A=1\n# \\", 2, "a comment must not end"),
            ("A=1\n\nB=\0", 3, "U+0 is"), ("\u{FEFF}A=1", 1, "U+FEFF is"), ("A=\u{FFFE}", 1, "U+FFFE is"),
            ("A=" + String(decoding: [0xEF, 0xB7, 0x90], as: UTF8.self), 1, "U+FDD0 is"),
            ("A=\u{1FFFF}", 1, "U+1FFFF is"),
        ]
    )
    func errors(text: String, line: Int, reason: String) {
        let error = #expect(throws: EnvironmentFile.ParseError.self) { try EnvironmentFile(Array(text.utf8)) }
        #expect(error?.line == line)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test("bytes that are not UTF-8, and an oversized file")
    func bounds() throws {
        let bytes = Array("A=1\n".utf8)
        #expect(throws: EnvironmentFile.ParseError(line: 2, reason: "the text is not UTF-8")) {
            try EnvironmentFile(bytes + [0x42, 0x3D, 0xC3, 0x0A])
        }
        let filling = [UInt8](repeating: UInt8(ascii: "#"), count: EnvironmentFile.maximumSize - bytes.count)
        #expect(try EnvironmentFile(bytes + filling).assignments.count == 1)
        #expect(throws: EnvironmentFile.ParseError.self) { try EnvironmentFile(bytes + filling + [0x0A]) }
    }

    @Test("an assignment has the line of its name")
    func lines() throws {
        let text = "# a\n\nA=\"1\n2\"\nB=3\\\n4\n\nC=5"
        #expect(try EnvironmentFile(Array(text.utf8)).assignments.map(\.line) == [3, 5, 8])
    }

    @Test("any text that the format can express survives a round trip")
    func roundTrip() throws {
        var random = SeededGenerator()
        for _ in 0..<3000 {
            let value = random.text()
            let written = EnvironmentFile.line("A", value)
            guard value.unicodeScalars.allSatisfy(EnvironmentFile.isAllowed) else {
                #expect(written == nil, "\(random)")
                continue
            }
            let text = "# before\n" + (try #require(written)) + "B=after\n"
            let file = try EnvironmentFile(Array(text.utf8))
            // Compared as bytes, because strings are compared by canonical equivalence.
            #expect(
                file.assignments.map { Array($0.value.utf8) } == [Array(value.utf8), Array("after".utf8)],
                "\(random)"
            )
        }
        #expect(EnvironmentFile.line("A B", "x") == nil)
        #expect(EnvironmentFile.line("", "x") == nil)
    }

    @Test("a damaged file is parsed or rejected without a crash")
    func damage() throws {
        let text = "# c\nHYBRID_A=\"x \\\" y\"\nHYBRID_B='z'\r\nHYBRID_C=a\\\n b\\ \n; d\nHYBRID_D=ü"
        let bytes = Array(text.utf8)
        _ = try EnvironmentFile(bytes)
        var rejected = 0
        for damaged in Damage.truncations(of: bytes) + Damage.bitFlips(of: bytes) {
            do {
                for assignment in try EnvironmentFile(damaged).assignments {
                    #expect(EnvironmentFile.isName(assignment.name))
                }
            } catch {
                rejected += 1
                #expect((1...8).contains(error.line))
            }
        }
        #expect(rejected > 100)
    }

    @Test("random lines of quotes, escapes and blanks are parsed or rejected")
    func noise() {
        var random = SeededGenerator()
        for _ in 0..<5000 {
            let text = (0..<random.number(0...12)).map { _ in Self.pieces.randomElement(using: &random) ?? "" }.joined()
            _ = try? EnvironmentFile(Array(text.utf8))
        }
    }

    static let pieces = [
        "A=", "B=", "a", " ", "\t", "\n", "\r\n", "\\", "'", "\"", "#", ";", "=", "$", "`", "ä", "\\\n",
    ]
}

extension SeededGenerator {
    /// Returns a text of up to 20 characters, with a preference for special ones.
    mutating func text() -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<number(0...20) {
            let scalar: Unicode.Scalar?
            switch number(0...3) {
            case 0: scalar = Array("\"\\'`$#;= \t\n\r{},:".unicodeScalars).randomElement(using: &self)
            case 1: scalar = Unicode.Scalar(UInt8(number(0...255)))
            case 2: scalar = Unicode.Scalar(UInt32(number(0x20...0x7E)))
            default: scalar = Unicode.Scalar(UInt32(number(0...0x10FFFF)))
            }
            if let scalar { text.append(scalar) }
        }
        return String(text)
    }
}
