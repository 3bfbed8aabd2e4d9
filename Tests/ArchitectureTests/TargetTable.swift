// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The table of ARCHITECTURE.md with the allowed imports of each target, lowest layer first.
struct TargetTable {
    struct Row: Equatable {
        let target: String
        let mayImport: Set<String>
    }

    let rows: [Row]

    subscript(target: String) -> Row? { rows.first { $0.target == target } }

    static func read() throws -> TargetTable {
        let text = try String(contentsOfFile: PackageFolder.path + "/ARCHITECTURE.md", encoding: .utf8)
        return TargetTable(markdown: text)
    }

    /// Reads lines of the form ``| `X` | A, B | … |``.
    init(markdown: String) {
        rows = markdown.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, cells[1].count > 2, cells[1].hasPrefix("`"), cells[1].hasSuffix("`") else {
                return nil
            }
            let names = cells[2].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            return Row(target: String(cells[1].dropFirst().dropLast()), mayImport: Set(names))
        }
    }
}
