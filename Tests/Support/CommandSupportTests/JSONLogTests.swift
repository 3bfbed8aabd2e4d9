// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HybridProgram
import HybridThreads
import Logging
import TestSupport
import Testing

@testable import HybridCommandSupport

@Suite("JSON log lines")
struct JSONLogTests {
    private func event(
        _ message: Logger.Message,
        _ metadata: Logger.Metadata? = nil,
        level: Logger.Level = .info,
        error: (any Error)? = nil
    ) -> LogEvent {
        LogEvent(
            level: level,
            message: message,
            error: error,
            metadata: metadata,
            source: "",
            file: "",
            function: "",
            line: 0
        )
    }

    private func decoded(_ line: String) throws -> [String: JSONValue] {
        try JSONDecoder().decode(JSONValue.self, from: Data(line.utf8)).entries
    }

    /// The lines that a handler wrote.
    private final class Lines: Sendable {
        private let kept = Locked<[String]>([])
        var all: [String] { kept.withLock { $0 } }
        func add(_ line: [UInt8]) { kept.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    }

    @Test("a line, byte for byte")
    func line() {
        var handler = ProgramLogHandler(.json)
        handler[metadataKey: "node"] = .stringConvertible(3)
        let event = event(
            "tunnel ended",
            [
                "reason": "idle", "bytes": .stringConvertible(1234), "tls": .stringConvertible(true),
                "seconds": .stringConvertible(1.5), "part": ["b": "2", "a": ["x", ["y": "z"]]],
            ],
            level: .warning
        )
        #expect(
            handler.line(of: event, at: 1_769_846_709, nanoseconds: 120_999_999)
                == #"{"time":"2026-01-31T08:05:09.120Z","level":"warning","message":"tunnel ended","bytes":1234,"node":3,"#
                + #""part":{"a":["x",{"y":"z"}],"b":"2"},"reason":"idle","seconds":1.5,"tls":true}"#
        )
    }

    @Test(
        "times",
        arguments: [
            (0, 0, "1970-01-01T00:00:00.000Z"), (951_782_399, 999_999_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400, 1_000_000, "2000-02-29T00:00:00.001Z"), (4_102_444_799, 0, "2099-12-31T23:59:59.000Z"),
        ]
    )
    func times(seconds: Int, nanoseconds: Int, expected: String) throws {
        let line = ProgramLogHandler(.json).line(of: event("x"), at: seconds, nanoseconds: nanoseconds)
        #expect(try decoded(line)["time"] == .text(expected))
    }

    @Test("an event's fields override the provider's, and these the handler's")
    func precedence() throws {
        var handler = ProgramLogHandler(.json)
        handler.metadata = ["a": "1", "b": "1", "c": "1"]
        handler.metadataProvider = Logger.MetadataProvider { ["b": "2", "c": "2"] }
        let fields = try decoded(handler.line(of: event("x", ["c": "3"]), at: 0, nanoseconds: 0))
        #expect([fields["a"], fields["b"], fields["c"]] == [.text("1"), .text("2"), .text("3")])
    }

    @Test("names are unique")
    func names() throws {
        let handler = ProgramLogHandler(.json)
        let line = handler.line(
            of: event("real", ["message": "a", "message_": "b", "time": "c", "level": "d"]),
            at: 0,
            nanoseconds: 0
        )
        let fields = try decoded(line)
        #expect(fields["message"] == .text("real"))
        #expect(fields["level"] == .text("info"))
        #expect(fields.count == 7)
        #expect(Set(fields.values).isSuperset(of: ["a", "b", "c", "d"].map(JSONValue.text)))
    }

    @Test("numbers that JSON can't express")
    func numbers() throws {
        let handler = ProgramLogHandler(.json)
        let line = handler.line(
            of: event("x", ["n": .stringConvertible(Double.nan), "u": .stringConvertible(UInt64.max)]),
            at: 0,
            nanoseconds: 0
        )
        #expect(line.hasSuffix(#""n":null,"u":"18446744073709551615"}"#))
    }

    @Test("the text of an error is not logged")
    func errors() {
        struct Address: Error { let text = "192.0.2.1" }
        let line = ProgramLogHandler(.json)
            .line(of: event("x", error: Address()), at: 0, nanoseconds: 0)
        #expect(!line.contains("192"))
    }

    @Test("any text survives, on one line without control characters")
    func anyText() throws {
        var random = SeededGenerator()
        let handler = ProgramLogHandler(.json)
        for _ in 0..<2000 {
            let (message, key, value) = (random.text(), random.text(), random.text())
            let event = event("\(message)", ["k": [key: .string(value), key + "'": .array([.string(key)])]])
            let line = handler.line(of: event, at: 0, nanoseconds: 0)
            #expect(StandardError.oneLine(line) == line, "\(random)")
            let fields = try decoded(line)
            let nested = try #require(fields["k"]).entries
            #expect(fields["message"] == .text(message), "\(random)")
            #expect(nested[key] == .text(value), "\(random)")
            #expect(nested[key + "'"] == .list([.text(key)]), "\(random)")
        }
    }

    @Test("a logger writes complete lines with their own time, and drops those below its level")
    func wholeLines() async throws {
        let lines = Lines()
        let logger = Logger(label: "x") { _ in ProgramLogHandler(.json, logLevel: .notice, emit: lines.add) }
        let before = time(nil)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<100 {
                        logger.notice("n", metadata: ["number": .stringConvertible(task * 100 + number)])
                        logger.info("not this")
                    }
                }
            }
        }
        let all = lines.all
        #expect(all.count == 400)
        var numbers: Set<JSONValue> = []
        for line in all {
            #expect(line.hasSuffix("}"))
            let fields = try decoded(line)
            #expect(try abs(Self.seconds(fields["time"]) - before) < 600)
            if let number = fields["number"] { numbers.insert(number) }
        }
        #expect(numbers == Set((0..<400).map(JSONValue.number)))
    }

    /// Returns the seconds since 1970 of a time in RFC 3339, parsed by Foundation.
    private static func seconds(_ value: JSONValue?) throws -> Int {
        guard case .text(let text) = value else { throw JSONValue.Missing.key("time") }
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return Int(try style.parse(text).timeIntervalSince1970)
    }
}
