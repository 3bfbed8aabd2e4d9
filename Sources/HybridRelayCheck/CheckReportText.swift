// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension CheckResult {
    /// One line for users.
    ///
    /// It may contain text of the relay's, so it must be made safe before it is shown.
    public var line: String {
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
    /// The last line for users.
    public var summary: String {
        [CheckLevel.required, .advisory].map { level in
            let outcomes = results.filter { $0.id.level == level }.map(\.outcome.label)
            let counts = ["ok", "differs", "not tested"].map { label in
                "\(outcomes.filter { $0 == label }.count) \(label)"
            }
            return "\(level.rawValue): " + counts.joined(separator: ", ")
        }.joined(separator: "; ") + "; \(connections) connections"
    }

    /// Returns one JSON object on one line.
    public func json() throws -> [UInt8] {
        let checks = results.map { result in
            Document.Check(
                id: result.id,
                level: result.id.level,
                outcome: result.outcome.label,
                expected: result.id.expected,
                found: result.outcome.found
            )
        }
        let document = Document(
            relay: relay,
            address: address,
            verdict: verdict.rawValue,
            connections: connections,
            checks: checks
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(document))
    }

    private struct Document: Encodable {
        struct Check: Encodable {
            let id: CheckID
            let level: CheckLevel
            let outcome: String
            let expected: String
            let found: String
        }

        let relay: String
        let address: String
        let verdict: String
        let connections: Int
        let checks: [Check]
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(1, width - count))
    }
}
