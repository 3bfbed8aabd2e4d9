// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import HybridProgram
import Logging
import Testing

@testable import HybridCommandSupport

@Suite("Lines on standard error")
struct OneLineTests {
    @Test(
        "control characters and line breaks become question marks",
        arguments: [
            ("two\nlines", "two?lines"), ("red \u{1B}[31m", "red ?[31m"), ("back\u{8}space", "back?space"),
            ("left \u{202E}right", "left ?right"), ("zero\u{200B}width", "zero?width"), ("\u{2028}", "?"),
            ("Grüße, 世界", "Grüße, 世界"), ("", ""),
        ]
    )
    func oneLine(text: String, expected: String) {
        #expect(StandardError.oneLine(text) == expected)
    }

    @Test("exit codes never change")
    func codes() {
        let expected: [Int32] = [0, 64, 65, 66, 69, 70, 74, 75, 77, 78, 130]
        #expect(ExitStatus.allCases.map(\.rawValue).sorted() == expected)
    }

    @Test("a log line has sorted fields, and a level except for info")
    func logLine() {
        var handler = ProgramLogHandler(.console(label: "relay"))
        handler[metadataKey: "b"] = "2"
        let event = LogEvent(
            level: .info,
            message: "ended",
            metadata: ["a": "1"],
            source: "",
            file: "",
            function: "",
            line: 0
        )
        #expect(String(decoding: handler.line(of: event, label: "relay"), as: UTF8.self) == "relay: ended a=1 b=2")
        var warning = event
        warning.level = .warning
        #expect(
            String(decoding: handler.line(of: warning, label: "relay"), as: UTF8.self)
                == "relay: warning: ended a=1 b=2"
        )
    }
}
