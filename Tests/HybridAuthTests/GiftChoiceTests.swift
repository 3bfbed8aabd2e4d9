// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridPrimitives
import HybridProgram
import TestSupport
import Testing

@testable import HybridAuth

@Suite("Passkeys for a person nearby", .timeLimit(.minutes(5)))
struct GiftChoiceTests {
    @Test("The answer to the list: numbers, ranges, all; anything else is asked again")
    func numbers() {
        let right: [(String, [Int])] = [
            ("1", [1]), ("3 1", [1, 3]), ("2-4, 1", [1, 2, 3, 4]), (" all ", [1, 2, 3, 4]), ("ALL", [1, 2, 3, 4]),
            ("4-4", [4]), ("1 1", [1]),
        ]
        for (line, numbers) in right { #expect(GiftChoice.numbers(line, upTo: 4) == numbers, "\(line)") }
        for line in ["", " ", "0", "5", "1-5", "3-1", "-1", "1-", "1-2-3", "x", "all 1", "1 2 3 4 4", "1.5", "١"] {
            #expect(GiftChoice.numbers(line, upTo: 4) == nil, "\(line)")
        }
    }

    @Test("A long list is cut in a prompt and on the screen, and says how many are left out")
    func lists() throws {
        let items = (1...60).map { number in
            NearbyText.Item(site: "site\(number).example", account: "\"ada\"", json: .null)
        }
        #expect(NearbyText.list(items).count == 21 && NearbyText.list(items).last == "and 40 more")
        #expect(NearbyText.list(Array(items.prefix(20))).count == 20)
        let prompt = NearbyText.promptList(items)
        #expect(prompt.utf8.count < 500 && prompt.contains("and 52 more"))
        let long = NearbyText.Item(site: String(repeating: "a", count: 253), account: "\"b\"", json: .null)
        #expect(NearbyText.promptList([long, long]).contains("and 1 more"))
    }

    @Test("The digits of a file are six groups of five of its hash")
    func groups() {
        let hash: [UInt8] = Array(0..<32)
        // 0x0001020304 = 16909060, 0x0506070809 = 21575960585, …
        let expected = [0, 1, 2, 3, 4, 5].map { group -> String in
            let number = (0..<5).reduce(UInt64(0)) { $0 << 8 | UInt64(group * 5 + $1) } % 100_000
            return String(repeating: "0", count: 5 - "\(number)".count) + "\(number)"
        }
        #expect(NearbyText.groups(of: hash) == expected.joined(separator: " "))
        #expect(NearbyText.groups(of: hash).hasPrefix("09060 60585 "))
    }

    @Test("The place of a code: the terminal, the window, the page, or an image")
    func places() {
        let places: [String: CodePlace] = [
            "terminal": .terminal, "window": .window, "page": .page, "/tmp/x.png": .image("/tmp/x.png"),
            "x.svg": .image("x.svg"),
        ]
        for (text, place) in places { #expect(CodePlace(argument: text) == place) }
        for text in ["", "x", "x.jpg", "Page", "Window"] { #expect(CodePlace(argument: text) == nil, "\(text)") }
    }

    @Test(
        "Command lines that make no sense are refused before anything happens",
        arguments: [
            ["give"], ["give", "--all", "example.com", "-"], ["give", "--camera", "--screen"], ["give", "--to", "x"],
            ["give", "--to", "x", "--for", "y", "-"], ["give", "--to", "x", "--for", "y", "--move"],
            ["give", "-", "--timeout", "0"], ["receive", "--request", "a", "--from", "b"],
            ["receive", "--show", "x.jpg"], ["receive", "--timeout", "9999"], ["receive", "--name", ""],
            ["vault", "join"],
        ]
    )
    func refused(arguments: [String]) async throws {
        try await ScanFixture.with { fixture in
            let ending = try await fixture.run(arguments)
            #expect(ending.status == 64, "\(ending)")
            #expect(!fixture.exists(".local"), "no vault is created")
        }
    }

    @Test("A code of the other kind names the command for it; a damaged one is reported before Bluetooth is used")
    func codes() async throws {
        try await ScanFixture.with { fixture in
            let give = ["give", "--all", "--tunnel-domain", "266", "-"]
            let signIn = try await fixture.run(give, input: ScanFixture.code + "\n")
            #expect(signIn.status == 65 && signIn.lastLine.contains("hybrid-auth scan"), "\(signIn)")
            let other = try await fixture.run(give, input: "HTTPS://EXAMPLE.COM\n")
            #expect(other.status == 65 && other.lastLine.contains("HYBRID:/"), "\(other)")
            let damaged = try await fixture.run(give, input: "HYBRID:/123\n")
            #expect(damaged.status == 65 && damaged.lastLine.contains("scan it again"), "\(damaged)")
            let scan = try await fixture.run(["scan", "--tunnel-domain", "266", "-"], input: "HYBRID:/123\n")
            #expect(scan.status == 65 && scan.lastLine.contains("hybrid-auth give"), "\(scan)")
            for ending in [signIn, other, damaged, scan] {
                #expect(ending.errors.split(separator: "\n").count == 1, "\(ending)")
            }
        }
    }

    @Test("With --json, failures are one object, and nothing is asked on a terminal")
    func json() async throws {
        try await ScanFixture.with { fixture in
            let noRelay = try await fixture.run(["give", "--all", "--json", "-"], input: "HYBRID:/1\n")
            #expect(noRelay.status == 64 && noRelay.lastLine.hasPrefix("{\"event\":\"error\""), "\(noRelay)")
            let receive = try await fixture.run(["receive", "--json"])
            #expect(receive.status == 69 && receive.lastLine.hasPrefix("{\"event\":\"error\""), "\(receive)")
            let file = try await fixture.run(["receive", "--from", "/nonexistent", "--json"])
            #expect(file.status == 66 && file.lastLine.contains("no such file"), "\(file)")
        }
    }
}
