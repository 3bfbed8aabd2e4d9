// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import HybridPinentry
@testable import HybridPrimitives

/// Rows that a user sees on a terminal if an attacker chose the account's name.
@Suite("Hostile text on a terminal", .enabled(if: !RealProgramTests.installed.isEmpty, "no pinentry is installed"))
struct HostileTextTests {
    /// Names and their expected remains.
    static let names: [(name: String, shown: String)] = [
        ("ada@example.com", "\"ada@example.com\""),
        ("ada\"\n\nSign in as this account?\n\"bob", "\"ada'Sign in as this account?'bob\""),
        ("x\nOK\nD 1234\nERR 83886179 canceled", "\"xOKD 1234ERR 83886179 canceled\""),
        ("x%0AOK%0ASETDESC y", "\"x%0AOK%0ASETDESC y\""),
        ("\u{1B}[2J\u{1B}[1;1Hbank.example\u{7}", "\"[2J[1;1Hbank.example\""),
        ("\u{202E}moc.elpmaxe\u{202C}\u{2066}a\u{2069}", "\"moc.elpmaxea\""),
        ("<b>bank.example</b>&lt;", "\"bbank.example/blt;\""),
        ("a" + String(repeating: " ", count: 300) + "bank.example", "\"a bank.example\""),
        (String(repeating: "y", count: 10240), "\"" + String(repeating: "y", count: 63) + "…\""),
        ("Zoë 李", "\"Zoë 李\""),
        ("a\u{200B}\u{AD}\u{2060}b\u{FEFF}", "\"ab\""),
        ("ada\u{201D} (1 of 1)", "\"ada' (1 of 1)\""),
        ("\u{338}\u{20DD}z\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}", "\"z\u{301}\u{301}\u{301}\""),
        ("", "\"\""),
    ]

    /// RP IDs; only plain host names get this far.
    static let sites = ["example.com", "xn--pple-43d.com", "a.xn--80ak6aa92e.com"]

    private static func question(_ site: String, _ name: String) -> String {
        "\(site)\n\nSign in as this account? (1 of 2)\n\(SafeText(quoting: name))\n\nVIRTUAL RADIO: no proximity proof"
    }

    @Test("RP ID, question and name are each alone on a row", arguments: 0..<names.count)
    func rows(index: Int) async throws {
        let (name, shown) = Self.names[index]
        let site = Self.sites[index % Self.sites.count]
        for program in RealProgramTests.installed {
            let keyboard = try Keyboard()
            let client = try keyboard.client(program, kind: "vt100")
            async let answer = client.confirm(
                description: Self.question(site, name),
                ok: "Use",
                notOK: "Next",
                cancel: "Decline"
            )
            // The buttons come row by row where each has a row, and the question for a key last.
            let last = program.hasSuffix("tty") ? "[udn]" : "ecline"
            try await Waiting.until("the prompt") { keyboard.rows().contains { $0.contains(last) } }
            let rows = keyboard.rows().filter { !$0.isEmpty }
            let expected = [site, "Sign in as this account? (1 of 2)", shown, "VIRTUAL RADIO: no proximity proof"]
            #expect(Array(rows.prefix(4)) == expected, "\(program)")
            // Behind it come the buttons: a row of three, or a row for each and one for the answer.
            #expect(rows.count == (program.hasSuffix("tty") ? 8 : 5), "\(program): \(rows)")
            keyboard.type(program.hasSuffix("tty") ? "n" : "\t\r")
            #expect(try await answer == .no, "the keys still mean what they say")
        }
    }

    @Test("The longest RP ID is shown in full", arguments: RealProgramTests.installed)
    func longestSite(program: String) async throws {
        let label = String(repeating: "a", count: 62)
        let site = "example.com.\(label).\(label).\(label).\(String(repeating: "b", count: 46)).net"
        try #require(site.utf8.count == 251)
        let keyboard = try Keyboard()
        let client = try keyboard.client(program, kind: "vt100")
        async let secret = client.getPIN(
            description: "\(site)\n\nSign in to this site?",
            prompt: "PIN:"
        )
        try await Waiting.until("the prompt") { keyboard.rows().contains { $0.hasPrefix("PIN:") } }
        let rows = keyboard.rows().filter { !$0.isEmpty }
        let end = try #require(rows.firstIndex { $0.hasPrefix("Sign in to") })
        #expect(rows[..<end].joined() == site, "\(rows)")
        keyboard.type("1234\r")
        #expect(try await secret.text == "1234")
    }

    @Test("A terminal that lacks letters of a name shows everything else", arguments: ["C", "POSIX"])
    func otherCharacters(locale: String) async throws {
        for program in RealProgramTests.installed {
            let keyboard = try Keyboard()
            let client = try keyboard.client(program, kind: "vt100", locale: locale)
            async let answer = client.confirm(
                description: Self.question("example.com", "Zoë 李"),
                ok: "Use",
                cancel: "Decline"
            )
            let last = program.hasSuffix("tty") ? "[ud]" : "ecline"
            try await Waiting.until("the prompt") { keyboard.rows().contains { $0.contains(last) } }
            let rows = keyboard.rows().filter { !$0.isEmpty }
            #expect(rows.first == "example.com", "\(program)")
            #expect(rows.contains("Sign in as this account? (1 of 2)"), "\(program): \(rows)")
            // Curses refuses what the locale lacks; the other program writes the bytes as they are.
            #expect(rows.contains(program.hasSuffix("tty") ? "\"Zoë 李\"" : "\"Zo? ?\""), "\(program): \(rows)")
            keyboard.type(program.hasSuffix("tty") ? "d" : "\t\r")
            #expect(try await answer == .cancelled)
        }
    }
}
