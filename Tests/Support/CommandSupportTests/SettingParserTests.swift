// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridCommandSupport

@Suite("Parsers of settings")
struct SettingParserTests {
    @Test("numbers", arguments: [("0", 0), ("7", 7), ("007", 7), ("9223372036854775807", Int.max)] as [(String, Int?)])
    func numbers(text: String, expected: Int?) {
        #expect(SettingParser.number().parse(text) == expected)
    }

    @Test(
        "texts that are not numbers",
        arguments: ["", "-1", "+1", " 1", "1 ", "1.0", "0x1", "1e3", "٣", "9223372036854775808"]
    )
    func noNumbers(text: String) {
        #expect(SettingParser.number().parse(text) == nil)
    }

    @Test("numbers are limited to a range, which the description states")
    func numberRange() {
        let parser = SettingParser.number(2...5)
        #expect((0...7).map { parser.parse("\($0)") } == [nil, nil, 2, 3, 4, 5, nil, nil])
        #expect(parser.expected == "a number from 2 to 5")
        #expect(SettingParser.number(2...Int.max).expected == "a number of at least 2")
        #expect(SettingParser.number(0...5).expected == "a number up to 5")
        #expect(SettingParser.number().expected == "a number")
    }

    @Test(
        "bytes",
        arguments: [
            ("0", 0), ("65536", 65536), ("64K", 65536), ("64KiB", 65536), ("1M", 1_048_576), ("1MiB", 1_048_576),
            ("2G", 2_147_483_648), ("2GiB", 2_147_483_648), ("8589934591G", 9_223_372_035_781_033_984),
            ("8589934592G", nil), ("", nil), ("K", nil), ("1k", nil), ("1KB", nil), ("1 K", nil), ("1.5M", nil),
            ("1B", nil), ("-1K", nil), ("1KK", nil), ("99999999999999999999", nil),
        ] as [(String, Int?)]
    )
    func bytes(text: String, expected: Int?) {
        #expect(SettingParser.bytes().parse(text) == expected)
    }

    @Test("bytes are limited to a range, which the description states")
    func byteRange() {
        let parser = SettingParser.bytes(1024...1_048_576)
        #expect(["1023", "1K", "1M", "1048577"].map(parser.parse) == [nil, 1024, 1_048_576, nil])
        #expect(parser.expected == "a number of bytes such as 65536, 64K or 1M, from 1K to 1M")
        #expect(
            SettingParser.bytes(1...Int.max).expected == "a number of bytes such as 65536, 64K or 1M, of at least 1"
        )
    }

    @Test(
        "seconds",
        arguments: [
            ("0", .zero), ("300", .seconds(300)), ("0.5", .milliseconds(500)), ("1.25", .milliseconds(1250)),
            ("0.000000001", .nanoseconds(1)), ("1000000000", .seconds(1_000_000_000)), ("1000000000.1", nil),
            ("", nil), (".", nil), ("1.", nil), (".5", nil), ("5m", nil), ("5s", nil), ("-1", nil), ("1e3", nil),
            ("0.0000000001", nil), ("1.2.3", nil), ("nan", nil), ("inf", nil), ("1,5", nil),
            ("99999999999999999999", nil),
        ] as [(String, Duration?)]
    )
    func seconds(text: String, expected: Duration?) {
        #expect(SettingParser.seconds().parse(text) == expected)
    }

    @Test("seconds are limited to a range, which the description states")
    func secondRange() {
        let parser = SettingParser.seconds(.milliseconds(250) ... .seconds(10))
        #expect(["0.249", "0.25", "10", "10.001"].map(parser.parse) == [nil, .milliseconds(250), .seconds(10), nil])
        #expect(parser.expected == "a number of seconds from 0.25 to 10")
        #expect(SettingParser.seconds().expected == "a number of seconds")
    }

    @Test("Booleans are those of systemd")
    func booleans() {
        for text in ["1", "yes", "Yes", "true", "on", "y", "t"] { #expect(SettingParser.boolean.parse(text) == true) }
        for text in ["0", "no", "FALSE", "off", "n", "f"] { #expect(SettingParser.boolean.parse(text) == false) }
        for text in ["", "2", "si", " yes"] { #expect(SettingParser.boolean.parse(text) == nil) }
    }

    @Test("texts, paths and words")
    func words() {
        #expect(SettingParser.text("text").parse("") == nil)
        #expect(SettingParser.text("text").parse("a b") == "a b")
        #expect(SettingParser.path("file").parse("") == nil)
        #expect(SettingParser.path("file").parse("a\0b") == nil)
        #expect(SettingParser.path("file").parse("/a b") == "/a b")
        let parser = SettingParser.choice(["console", "json"])
        #expect(parser.parse("json") == "json")
        #expect(parser.parse("JSON") == nil)
        #expect(parser.expected == "one of console, json")
    }
}
