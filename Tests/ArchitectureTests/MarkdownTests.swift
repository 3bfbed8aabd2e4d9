// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Markdown files")
struct MarkdownTests {
    let files: [MarkdownFile]

    init() throws {
        files = try MarkdownFile.all()
        try #require(files.count > 30, "files not found")
    }

    @Test("name only files and folders that exist")
    func paths() {
        var found = 0
        for file in files {
            for (line, text) in file.spans {
                guard let path = Self.path(in: text) else { continue }
                found += 1
                #expect(Self.exists(path), "\(file.path):\(line): \(path)")
            }
        }
        #expect(found > 50, "the search finds known paths")
    }

    @Test("link only to files that exist")
    func links() {
        var found = 0
        for file in files {
            let folder = file.path.split(separator: "/").dropLast().joined(separator: "/")
            for (line, target) in file.links {
                found += 1
                #expect(Self.exists(folder + "/" + target), "\(file.path):\(line): \(target)")
            }
        }
        #expect(found > 50, "the search finds known links")
    }

    @Test("the glossary defines each term once")
    func terms() throws {
        let glossary = try #require(files.first { $0.path == "docs/glossary.md" })
        let rows = glossary.lines.compactMap { $0.prefixMatch(of: #/\| ([^|]+) \|/#) }
        let terms = rows.map { String($0.output.1) }.filter { $0 != "term" }
        let counts = Dictionary(grouping: terms) { $0 }
        #expect(terms.count > 100)
        #expect(counts.filter { $0.value.count > 1 }.keys.sorted() == [])
    }

    @Test("the page about tests lists every folder of tests")
    func testFolders() throws {
        let page = try #require(files.first { $0.path == "Tests/README.md" })
        let rows = page.lines.compactMap { $0.prefixMatch(of: #/\| `([^`]+Tests)` \|/#) }
        let all = try SourceFile.all(in: "Tests").compactMap { $0.path.prefixMatch(of: #/Tests/(.*?[^/]Tests)\//#) }
        #expect(Set(rows.map { String($0.output.1) }) == Set(all.map { String($0.output.1) }))
    }

    /// Alerts of the relay are named like modules.
    @Test("name only modules that exist")
    func modules() throws {
        let manifests = ["Package.swift", "Desktop/Package.swift", "Shiny/Package.swift", "Fuzz/Package.swift"]
        let alerts = ["deploy/prometheus/alerts.yml", "deploy/prometheus/objectives.yml"]
        let lists = try (manifests + alerts).map { path in
            try String(contentsOfFile: PackageFolder.path + "/" + path, encoding: .utf8)
        }
        let known = Set(lists.flatMap { $0.matches(of: #/C?Hybrid[A-Z]\w*/#).map { String($0.output) } })
        try #require(known.contains("HybridCaBLE"))
        var found = 0
        for file in files {
            for (line, text) in file.spans {
                guard let name = Self.module(in: text) else { continue }
                found += 1
                #expect(known.contains(name), "\(file.path):\(line): \(name)")
            }
        }
        #expect(found > 50, "the search finds known modules")
    }

    private static let folders = [
        "Sources", "Tests", "docs", "scripts", "Fuzz", "deploy", "Desktop", "Shiny", "Extension", "Benchmarks",
    ]

    private static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: PackageFolder.path + "/" + path)
    }

    /// Returns the path with which a text begins, such as `scripts/test` for a command.
    ///
    /// Patterns, names that the reader chooses, and results of a build are no paths of the repository.
    private static func path(in text: String) -> String? {
        guard let word = text.split(separator: " ").first, folders.contains(where: { word.hasPrefix($0 + "/") }) else {
            return nil
        }
        guard !word.contains("…"), !word.contains("*"), !word.contains("/.build") else { return nil }
        let isPlaceholder = word.split(separator: "/").contains { placeholders.contains(String($0)) }
        return isPlaceholder ? nil : String(word)
    }

    private static let placeholders: Set<String> = ["DIR", "FILE", "FOLDER", "MODULE", "NAME", "TARGET", "VERSION"]

    /// Returns the module that a text names: all of it, or the part before a type.
    private static func module(in text: String) -> String? {
        text.wholeMatch(of: #/(C?Hybrid[A-Z]\w*)(\.\w+)?/#).map { String($0.output.1) }
    }

    @Test("are read correctly: spans and links are found in prose only")
    func reader() {
        let file = MarkdownFile(
            path: "a.md",
            lines: ["`a` and [b](b.md#c), [c](#c), [d](https://d)", "```", "`e`", "```", "    `f`", "``G`` `h`"]
        )
        #expect(file.spans.map(\.text).filter { !$0.isEmpty } == ["a", "h"])
        #expect(file.links.map(\.target) == ["b.md"])
    }

    @Test("are read correctly: paths and modules are told from other texts")
    func words() {
        let paths: [(String, String?)] = [
            ("scripts/test --filter A", "scripts/test"), ("Sources/CaBLE", "Sources/CaBLE"), ("Sources/", "Sources/"),
            ("Tests/README.md", "Tests/README.md"), ("Tests/…", nil), ("Sources/*/A", nil),
            ("Sources/Protocol/CBOR", "Sources/Protocol/CBOR"),
            ("docs/NAME", nil), ("Shiny/.build/pictures", nil), ("swift test", nil), ("/work", nil),
        ]
        for (text, path) in paths { #expect(Self.path(in: text) == path, "\(text)") }
        let modules: [(String, String?)] = [
            ("HybridCaBLE", "HybridCaBLE"), ("HybridVault.Vault", "HybridVault"), ("CHybridLinux", "CHybridLinux"),
            ("Hybrid", nil), ("Hybrid…", nil), ("import HybridCaBLE", nil), ("hybrid-auth", nil),
        ]
        for (text, module) in modules { #expect(Self.module(in: text) == module, "\(text)") }
    }
}
