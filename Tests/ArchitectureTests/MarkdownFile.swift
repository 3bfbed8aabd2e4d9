// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A Markdown file of the project.
struct MarkdownFile: Sendable {
    /// Path relative to the repository, such as `docs/vault.md`.
    let path: String
    let lines: [String]

    /// Texts in backticks with their line numbers, outside of fenced blocks.
    var spans: [(line: Int, text: String)] {
        prose.flatMap { line, text in
            text.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map { (line, $0.element) }
        }
    }

    /// Targets of links with their line numbers, without parts of pages and addresses on the web.
    var links: [(line: Int, target: String)] {
        prose.flatMap { line, text in
            text.matches(of: #/\]\(([^()\s]+)\)/#).compactMap { match in
                let target = String(match.output.1.prefix { $0 != "#" })
                return target.isEmpty || target.contains(":") ? nil : (line, target)
            }
        }
    }

    /// Lines with their numbers, without fenced and indented blocks.
    private var prose: [(line: Int, text: String)] {
        var isFenced = false
        return lines.enumerated().compactMap { index, text in
            if text.trimmingCharacters(in: .whitespaces).hasPrefix("```") {
                isFenced.toggle()
                return nil
            }
            return isFenced || text.hasPrefix("    ") ? nil : (index + 1, text)
        }
    }

    /// Returns the files of the project, without those that builds and package managers create.
    static func all() throws -> [MarkdownFile] {
        let manager = FileManager.default
        let root = PackageFolder.path + "/"
        let packages = try ["", "Desktop/", "Shiny/", "Fuzz/"].flatMap { folder in
            try manager.contentsOfDirectory(atPath: root + folder).map { folder + $0 }
        }
        let inside = [".github", "Sources", "Tests", "Benchmarks", "deploy", "docs"].flatMap { folder in
            let names = manager.enumerator(atPath: root + folder)?.allObjects as? [String]
            return (names ?? []).filter { !$0.contains("node_modules/") }.map { folder + "/" + $0 }
        }
        return try (packages + inside).filter { $0.hasSuffix(".md") }.sorted().map { path in
            let text = try String(contentsOfFile: root + path, encoding: .utf8)
            return MarkdownFile(path: path, lines: text.components(separatedBy: "\n"))
        }
    }
}
