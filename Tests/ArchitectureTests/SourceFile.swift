// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A Swift file of the package.
struct SourceFile: Sendable {
    /// Path relative to the package, such as `Sources/Protocol/CBOR/CBORValue.swift`.
    let path: String
    let lines: [String]

    /// Imported modules with their line numbers.
    var imports: [(line: Int, module: String)] {
        lines.enumerated().compactMap { index, line in
            Self.importedModule(line).map { (index + 1, $0) }
        }
    }

    /// Returns all Swift files in a folder of the package and its subfolders.
    static func all(in folder: String) throws -> [SourceFile] {
        let root = PackageFolder.path + "/" + folder
        let names = try #require(FileManager.default.enumerator(atPath: root)?.allObjects as? [String])
        return try names.filter { $0.hasSuffix(".swift") }.sorted().map { name in
            let text = try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
            return SourceFile(path: "\(folder)/\(name)", lines: text.components(separatedBy: "\n"))
        }
    }

    /// Returns `NIOCore` for `internal import struct NIOCore.ByteBuffer`; `nil` for a line without an import.
    static func importedModule(_ line: String) -> String? {
        var words = line.split(whereSeparator: \.isWhitespace)[...]
        let modifiers = ["public", "package", "internal", "fileprivate", "private"]
        while let word = words.first, word.hasPrefix("@") || modifiers.contains(String(word)) {
            words = words.dropFirst()
        }
        guard words.first == "import" else { return nil }
        words = words.dropFirst()
        let kinds = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        if let kind = words.first, kinds.contains(String(kind)) { words = words.dropFirst() }
        return words.first?.split(separator: ".").first.map(String.init)
    }
}
