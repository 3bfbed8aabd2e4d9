// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridRelayCore

@Suite("Tokens that may open tunnels")
struct TunnelTokensTests {
    // SHA-256 of "abc" and of the empty text, the examples of FIPS 180-4.
    private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    private func tokens(_ text: String) throws(TunnelTokens.ParseError) -> TunnelTokens {
        try TunnelTokens(parsing: Array(text.utf8))
    }

    private func error(_ text: String) -> TunnelTokens.ParseError? {
        do throws(TunnelTokens.ParseError) {
            _ = try tokens(text)
            return nil
        } catch {
            return error
        }
    }

    private func token(_ text: String) throws -> TunnelTokenHash { try #require(TunnelTokenHash(hashing: text.utf8)) }

    @Test(
        "are parsed from lines of a name and a hash",
        arguments: [
            "anna \(abc)", "anna \(abc)\n", "# owner\n\nanna \(abc)\n", "  anna\t \(abc.uppercased()) \t\r\n#",
            "\r\n \n\t# x y z\nanna \(abc)\n\n", "\u{FEFF}anna \(abc)\r\n",
        ]
    )
    func forms(text: String) throws {
        let tokens = try tokens(text)
        #expect(tokens.names == ["anna"])
        #expect(tokens.match(try token("abc")) == "anna")
        #expect(tokens.match(try token("abd")) == nil)
        #expect(try self.tokens("anna \(Self.abc)") == tokens)
    }

    @Test("may be absent", arguments: ["", "\n", "# none\n"])
    func none(text: String) throws {
        let tokens = try tokens(text)
        #expect(tokens.names.isEmpty)
        #expect(tokens.match(try token("abc")) == nil)
    }

    @Test(
        "are not parsed from other lines, and the error names the line",
        arguments: [
            ("anna", .malformedLine, 1), ("anna \(abc) x", .malformedLine, 1), ("\n\n\(abc)", .malformedLine, 3),
            ("anna \(abc) # hers", .malformedLine, 1), ("# x\nan/na \(abc)", .malformedName, 2),
            ("\u{E4}nna \(abc)", .malformedName, 1), ("\u{FEFF}\u{FEFF}anna \(abc)", .malformedName, 1),
            ("\(String(repeating: "a", count: 33)) \(abc)", .malformedName, 1),
            ("anna\u{0} \(abc)", .malformedName, 1), ("\"anna\" \(abc)", .malformedName, 1),
            ("anna \(abc.dropLast())", .malformedHash, 1), ("anna \(abc)0", .malformedHash, 1),
            ("anna \(abc.dropLast())g", .malformedHash, 1), ("anna s3cr3t-t0ken-0123456789", .malformedHash, 1),
            ("anna \(abc)\nbert s3cr3t", .malformedHash, 2), ("anna \(abc)\n\nanna \(empty)", .repeatedName, 3),
            ("anna \(abc)\nbert \(empty)\ncarl \(abc.uppercased())", .repeatedHash, 3),
            ("anna\r\(abc)", .malformedLine, 1),
        ] as [(String, TunnelTokens.ParseError.Reason, Int)]
    )
    func errors(text: String, reason: TunnelTokens.ParseError.Reason, line: Int) {
        let error = error(text)
        #expect(error == TunnelTokens.ParseError(reason: reason, line: line))
        let description = error?.description ?? ""
        #expect(description.hasPrefix("line \(line): "))
        // The log must not show the file, which may contain a token instead of a hash.
        for secret in ["s3cr3t", "ba7816bf", "anna", "bert"] { #expect(!description.contains(secret)) }
    }

    @Test("have names of 1 to 32 characters that are valid in a metric's label")
    func names() throws {
        let name = "ABCXYZabcxyz0189_.-" + String(repeating: "n", count: 13)
        #expect(name.utf8.count == 32)
        #expect(try tokens("\(name) \(Self.abc)\nx \(Self.empty)").names == [name, "x"])
        #expect(try tokens("Anna \(Self.abc)\nanna \(Self.empty)").names == ["Anna", "anna"])
    }

    @Test("are limited to 10,000 in 1 MiB")
    func bounds() throws {
        let lines = (0...10_000).map { number in
            let hex = String(number, radix: 16)
            return "t\(number) " + String(repeating: "0", count: 64 - hex.count) + hex + "\n"
        }
        let most = try tokens(lines.prefix(10_000).joined())
        #expect(most.names.count == 10_000)
        #expect(most.names.last == "t9999")
        #expect(error(lines.joined()) == TunnelTokens.ParseError(reason: .tooMany, line: 10_001))
        let padding = "#" + String(repeating: " ", count: (1 << 20) - 1)
        #expect(error(padding) == nil)
        #expect(error(padding + " ") == TunnelTokens.ParseError(reason: .fileTooLong, line: nil))
        #expect(error(padding + " ")?.description == "the file is longer than 1048576 bytes")
    }

    @Test("are compared by every bit of the hash")
    func comparison() throws {
        let token = try token("abc")
        for bit in 0..<256 {
            var digits = Array(Self.abc.utf8)
            let value = Int(String(decoding: [digits[bit / 4]], as: UTF8.self), radix: 16) ?? 0
            digits[bit / 4] = Array(String(value ^ 1 << (bit % 4), radix: 16).utf8)[0]
            let other = String(decoding: digits, as: UTF8.self)
            #expect(try tokens("other \(other)").match(token) == nil, "bit \(bit)")
            #expect(try tokens("other \(other)\nanna \(Self.abc)").match(token) == "anna")
            #expect(try tokens("anna \(Self.abc)\nother \(other)").match(token) == "anna")
        }
    }

    @Test("are created with a line that can be parsed")
    func making() throws {
        let made = try (0..<200).map { try TunnelTokens.make(name: "phone-\($0)") }
        #expect(Set(made.map(\.token)).count == 200)
        let tokens = try tokens("# all\n" + made.map(\.line).joined(separator: "\n"))
        #expect(tokens.names == (0..<200).map { "phone-\($0)" })
        for (index, (text, line)) in made.enumerated() {
            #expect(text.utf8.count == 43, "256 bits")
            #expect(
                text.utf8.allSatisfy {
                    ($0 | 0x20 >= 97 && $0 | 0x20 <= 122) || (48...57).contains($0) || $0 == 45 || $0 == 95
                }
            )
            #expect(!line.contains(text), "the line must not contain the token")
            #expect(tokens.match(try token(text)) == "phone-\(index)")
            #expect(tokens.match(try token(text + "A")) == nil)
            #expect(tokens.match(try token(String(text.dropLast()))) == nil)
        }
    }

    @Test("are created only for names that a file may have")
    func malformedNames() throws {
        for name in ["", "a b", "a\n", "a/b", String(repeating: "a", count: 33), "\u{E9}"] {
            #expect(throws: TunnelTokens.ParseError(reason: .malformedName, line: nil)) {
                try TunnelTokens.make(name: name)
            }
        }
    }

    @Test("are not printed")
    func hidden() throws {
        let tokens = try tokens("anna \(Self.abc)")
        for text in Shown.texts(tokens) {
            for part in ["ba7816bf", "13437732", "anna"] { #expect(!text.contains(part)) }
        }
        #expect("\(tokens)" == "TunnelTokens(hidden)")
    }
}
