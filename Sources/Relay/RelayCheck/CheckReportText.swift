// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

extension CheckResult {
    /// The result as one line for users.
    ///
    /// It may contain text from the relay, so it must be made safe before a terminal shows it.
    package var line: String {
        let mark = id.level == .advisory ? " (advisory)" : ""
        let start = outcome.label.padded(to: 12) + id.rawValue.padded(to: 21)
        switch outcome {
        case .ok(let found): return start + found
        case .differs(let found): return start + "expected: \(id.expected); found: \(found)" + mark
        case .skipped(let why), .prevented(let why): return start + why + mark
        }
    }
}

extension CheckReport {
    /// The last line for users, with the number of checks for each level and outcome.
    package var summary: String {
        [CheckLevel.required, .advisory].map { level in
            let outcomes = results.filter { $0.id.level == level }.map(\.outcome.label)
            let counts = ["ok", "differs", "not tested"].map { label in
                "\(outcomes.filter { $0 == label }.count) \(label)"
            }
            return "\(level.rawValue): " + counts.joined(separator: ", ")
        }.joined(separator: "; ") + "; \(connections) connections"
    }

    /// The report as one JSON object on one line.
    package var json: String {
        let checks = results.map { result in
            JSONText.object([
                ("expected", .string(result.id.expected)), ("found", .string(result.outcome.found)),
                ("id", .string(result.id.rawValue)), ("level", .string(result.id.level.rawValue)),
                ("outcome", .string(result.outcome.label)),
            ])
        }
        return JSONText.object([
            ("address", .string(address)), ("checks", .array(checks)), ("connections", .number(connections)),
            ("relay", .string(relay)), ("verdict", .string(verdict.rawValue)),
        ]).description
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(1, width - count))
    }
}
