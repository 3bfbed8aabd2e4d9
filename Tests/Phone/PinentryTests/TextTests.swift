// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridPinentry
@testable import HybridPrimitives

@Suite("Texts and secrets")
struct TextTests {
    @Test(
        "Names are quoted and keep their visible characters",
        arguments: [
            ("ada", "\"ada\""), ("", "\"\""), ("Ada Lovelace", "\"Ada Lovelace\""), ("Zoë 李 😀", "\"Zoë 李 😀\""),
            ("100 %", "\"100 %\""), ("a\u{A0}b\u{3000}c", "\"a b c\""), ("say \"yes\"", "\"say 'yes'\""),
        ]
    )
    func kept(name: String, shown: String) {
        #expect(SafeText(quoting: name).description == shown)
    }

    @Test("Every dangerous character is dropped")
    func dropped() {
        var scalars: [UInt32] = Array(0...0x1F) + Array(0x7F...0x9F)
        scalars += [0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x180B, 0x180E]
        scalars += Array(0x200B...0x200F) + Array(0x2028...0x202E) + Array(0x2060...0x206F)
        scalars += [0x2800, 0x3164, 0xFE00, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFB, 0xFFFE, 0xFFFF, 0xE000, 0xF8FF]
        scalars += [0x1D173, 0xE0001, 0xE0020, 0xE007F, 0xE0100, 0xF0000, 0x10FFFF, 0x3C, 0x3E, 0x26]
        for value in scalars {
            guard let scalar = Unicode.Scalar(value) else { continue }
            #expect(
                SafeText(quoting: "a\(Character(scalar))b").description == "\"ab\"",
                "U+\(String(value, radix: 16))"
            )
        }
    }

    @Test(
        "Characters that resemble quotation marks or spaces are replaced",
        arguments: [
            ("a\u{201D} b\u{FF02} c\u{2033} d\u{AB}", "\"a' b' c' d'\""), ("a          b", "\"a b\""), ("  a", "\"a\""),
            ("a \u{A0}\u{3000} b", "\"a b\""), ("\u{338}\u{301}a", "\"a\""), ("a \u{338}b", "\"a b\""),
            ("a\u{20DD}b", "\"ab\""), ("a\u{301}\u{302}\u{303}\u{304}\u{305}b", "\"a\u{301}\u{302}\u{303}b\""),
            ("เก็ด", "\"เก็ด\""), ("क्षि", "\"क्षि\""), ("שלום", "\"שלום\""), ("O’Brien", "\"O’Brien\""),
        ]
    )
    func imitations(name: String, shown: String) {
        #expect(SafeText(quoting: name).description.utf8.elementsEqual(shown.utf8))
    }

    @Test("A forged line of the prompt stays within its quotation marks")
    func forged() {
        let text = SafeText(quoting: "ada\"\nexample.com\u{202E}\r\n<b>OK</b>").description
        #expect(text == "\"ada'example.combOK/b\"")
        #expect(text.dropFirst().dropLast().allSatisfy { $0 != "\"" && !$0.isNewline })
    }

    @Test("Long names are shortened to 64 characters with an ellipsis", arguments: [63, 64, 65, 66, 10000])
    func cut(length: Int) {
        let text = SafeText(quoting: String(repeating: "x", count: length)).description
        if length <= 64 {
            #expect(text == "\"" + String(repeating: "x", count: length) + "\"")
        } else {
            #expect(text == "\"" + String(repeating: "x", count: 63) + "…\"")
        }
    }

    @Test("Names of wide characters are limited in bytes", arguments: ["😀", "李", "ä"])
    func cutBytes(character: String) {
        for count in 1...200 {
            let text = SafeText(quoting: String(repeating: character, count: count)).description.dropFirst().dropLast()
            #expect(text.utf8.count <= 192)
            #expect(text.unicodeScalars.count <= 64)
            #expect(text.hasSuffix("…") == (text.unicodeScalars.filter { $0 != "…" }.count < count))
        }
    }

    @Test("Two names and two domains of maximum length fit one line")
    func fits() {
        let domain = String(repeating: "a", count: 253)
        let name = SafeText(quoting: String(repeating: "😀", count: 64)).description
        #expect(AssuanLine.command("SETDESC", "\(domain)\n\(name)\n\(name)\n\(domain)") != nil)
    }

    @Test("Texts are escaped and cannot inject a second command")
    func escaped() throws {
        func line(_ text: String) -> String? {
            AssuanLine.command("SETDESC", text).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(line("a\nBYE") == "SETDESC a%0ABYE\n")
        #expect(line("a\r\nBYE") == "SETDESC a%0ABYE\n")
        #expect(line("50 %0A") == "SETDESC 50 %250A\n")
        #expect(line("a\0b\u{1B}[2Jc\u{85}d") == "SETDESC ab[2Jcd\n")
        #expect(line(String(repeating: "x", count: 991))?.utf8.count == 1000)
        #expect(line(String(repeating: "x", count: 992)) == nil)
        #expect(line(String(repeating: "%", count: 331)) == nil)
    }

    @Test("Lines of the program are parsed")
    func parsed() {
        func parse(_ line: String) -> AssuanLine.Reply { Array(line.utf8).withUnsafeBytes { AssuanLine.parse($0) } }
        #expect(parse("OK") == .ok)
        #expect(parse("OK closing") == .ok)
        #expect(parse("OKAY") == .invalid)
        #expect(parse("ok") == .invalid)
        #expect(parse("D 12") == .data)
        #expect(parse("D ") == .data)
        #expect(parse("D") == .invalid)
        #expect(parse("DATA") == .invalid)
        #expect(parse("S PIN_REPEATED") == .status("PIN_REPEATED"))
        #expect(parse("S PIN_REPEATED 1") == .status("PIN_REPEATED"))
        #expect(parse("S") == .status(""))
        #expect(parse("#") == .comment)
        #expect(parse("#x y") == .comment)
        #expect(parse("") == .comment)
        #expect(parse("ERR 83886179 x") == .error(code: 99))
        #expect(parse("ERR 4294967296 x") == .invalid)
        #expect(parse("INQUIRE X") == .inquiry)
    }

    @Test(
        "Percent signs are decoded in place",
        arguments: [
            ("", ""), ("a", "a"), ("%41", "A"), ("a%25b", "a%b"), ("%0a%0D", "\n\r"), ("%c3%A4", "ä"), ("%2541", "%41"),
            // Not escaped by the program.
            ("%", "%"), ("%4", "%4"), ("a%", "a%"), ("%4x", "%4x"), ("%x4", "%x4"), ("%%41", "%A"), ("50%!", "50%!"),
        ]
    )
    func decoded(raw: String, text: String) {
        let secret = PinentrySecret()
        #expect(Array(raw.utf8).withUnsafeBytes { secret.append($0) })
        secret.decodePercent()
        #expect(secret.text == text)
    }

    @Test("A secret is never printed, is compared in full and has a maximum length")
    func secret() {
        func make(_ text: String) -> PinentrySecret {
            let secret = PinentrySecret()
            _ = Array(text.utf8).withUnsafeBytes { secret.append($0) }
            return secret
        }
        let secret = make("123456")
        var text = "\(secret) \(String(reflecting: secret)) \([secret])"
        dump(secret, to: &text)
        #expect(!text.contains("123456") && !text.contains("49"))
        #expect(secret.matches(make("123456")))
        for other in ["", "12345", "1234567", "123457", "023456"] { #expect(!secret.matches(make(other))) }
        #expect(![UInt8](repeating: 1, count: 2049).withUnsafeBytes { PinentrySecret().append($0) })
        #expect([UInt8](repeating: 1, count: 2048).withUnsafeBytes { PinentrySecret().append($0) })
    }
}
