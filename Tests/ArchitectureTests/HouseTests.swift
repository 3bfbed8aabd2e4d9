// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The rules of the tree, with which ARCHITECTURE.md opens.
@Suite("The tree of the repository", .timeLimit(.minutes(10)))
struct HouseTests {
    let package: PackageDescription

    init() async throws { package = try await PackageDescription.read() }

    private static let manager = FileManager.default

    @Test("a folder of Sources that is named Hybrid… is a program, and no other")
    func programs() throws {
        let entries = try Self.manager.contentsOfDirectory(atPath: PackageFolder.path + "/Sources")
        // Each program has a folder; the libraries have nine rooms, however many programs there are.
        #expect(entries.count { !$0.hasPrefix("Hybrid") } <= 9)
        let programs = package.targets.filter { $0.kind == "executable" }
        #expect(Set(programs.map(\.path)) == Set(entries.filter { $0.hasPrefix("Hybrid") }.map { "Sources/" + $0 }))
    }

    @Test("a library's module is named Hybrid and its folder's name")
    func moduleNames() {
        #expect(package.libraries.count > 20)
        for library in package.libraries {
            #expect(library.name == "Hybrid" + (library.path as NSString).lastPathComponent)
        }
    }

    @Test("a file is in one module: there are no links", arguments: ["Sources", "Tests", "Desktop", "Shiny", "Fuzz"])
    func links(folder: String) throws {
        // A copy for the fuzzer, which git ignores, has links.
        let generated = ["Fuzz/Modules", "Fuzz/Sources/Fuzz/Targets", "/.build", "Desktop/.build", "Shiny/.build"]
        let root = PackageFolder.path + "/" + folder
        guard Self.manager.fileExists(atPath: root) else { return }
        let paths = try #require(Self.manager.enumerator(atPath: root)?.allObjects as? [String])
        for path in paths.map({ folder + "/" + $0 }) where !generated.contains(where: path.contains) {
            let attributes = try Self.manager.attributesOfItem(atPath: PackageFolder.path + "/" + path)
            #expect(attributes[.type] as? FileAttributeType != .typeSymbolicLink, "\(path)")
        }
    }

    @Test("only products have public declarations")
    func access() throws {
        #expect(package.products.contains("HybridCaBLE"))
        var checked = 0
        for library in package.libraries where !package.products.contains(library.name) {
            checked += 1
            for file in try SourceFile.all(in: library.path) {
                for (index, line) in file.lines.enumerated() where Self.isPublic(line) {
                    Issue.record("\(file.path):\(index + 1): \(line.trimmingCharacters(in: .whitespaces))")
                }
            }
        }
        #expect(checked > 10)
    }

    @Test("each name of a top-level type is used once")
    func typeNames() throws {
        var files: [String: [String]] = [:]
        for folder in ["Sources", "Desktop/Sources", "Shiny/Sources"] {
            guard Self.manager.fileExists(atPath: PackageFolder.path + "/" + folder) else { continue }
            for file in try SourceFile.all(in: folder) {
                for name in file.lines.compactMap(Self.declaredType) { files[name, default: []].append(file.path) }
            }
        }
        #expect(files.count > 500)
        for (name, paths) in files { #expect(paths.count == 1, "\(name) in \(paths)") }
    }

    @Test("a program protects its memory before anything else, except the demo site and the app for phones")
    func protectedMemory() throws {
        let files = try ["Sources", "Desktop/Sources"].flatMap { folder in
            Self.manager.fileExists(atPath: PackageFolder.path + "/" + folder) ? try SourceFile.all(in: folder) : []
        }
        // The app opens files through the desktop's portal, which inspects its callers. It sees neither PIN nor key.
        let programs = files.filter { $0.lines.contains("@main") && !$0.path.contains("/HybridPasskeys/") }
        #expect(programs.count > 5)
        for program in programs {
            let main = try #require(program.lines.firstIndex { $0.contains("static func main()") }, "\(program.path)")
            let statements = program.lines[(main + 1)...].map { $0.trimmingCharacters(in: .whitespaces) }
            #expect(statements.first { !$0.hasPrefix("//") } == "ProcessMemory.protect()", "\(program.path)")
        }
    }

    @Test("targets declare few dependencies: only those that they don't reach through others")
    func edges() {
        let targets = package.targets.filter { $0.kind == "executable" } + package.libraries
        let names = Set(package.libraries.map(\.name))
        #expect(targets.map { $0.local.intersection(names).count }.reduce(0, +) <= 120)
        for target in targets {
            for name in target.local {
                let others = target.local.subtracting([name]).compactMap { package[$0] }
                let isReachable = others.contains { package.reachable(from: $0).contains(name) }
                #expect(!isReachable, "\(target.name) reaches \(name) through another dependency")
            }
        }
    }

    /// Returns the name of the type that a line without indentation declares.
    private static func declaredType(_ line: String) -> String? {
        guard line.first.map({ !$0.isWhitespace && $0 != "/" }) == true else { return nil }
        let kinds: Set<Substring> = ["struct", "enum", "class", "protocol", "actor", "typealias"]
        let words = line.split(whereSeparator: \.isWhitespace)
        guard let kind = words.prefix(5).firstIndex(where: kinds.contains), kind + 1 < words.count else { return nil }
        guard !words[..<kind].contains("import") else { return nil }
        return String(words[kind + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }

    /// Returns true for a line that declares or imports something publicly.
    private static func isPublic(_ line: String) -> Bool {
        // Neither comments nor texts, which may have lines of their own.
        let words = line.split(whereSeparator: \.isWhitespace)
            .prefix { !$0.hasPrefix("//") && !$0.contains("\"") && $0 != "#" }
        return words.contains("public") || words.contains { $0.hasPrefix("public(") }
    }

    @Test("are read correctly: names of types are found at the top level only")
    func typeDeclarations() {
        #expect(Self.declaredType("public final class A: B {") == "A")
        #expect(Self.declaredType("package struct C<D> {") == "C")
        #expect(Self.declaredType("private enum E {") == "E")
        for line in [
            "    struct F {", "extension G {", "/// struct H", "internal import struct NIOCore.ByteBuffer", "",
        ] {
            #expect(Self.declaredType(line) == nil, "\(line)")
        }
    }

    @Test("are read correctly: public declarations are found, comments are not")
    func publicLines() {
        for line in ["public struct A {", "    @inlinable public init() {}", "public import NIOCore"] {
            #expect(Self.isPublic(line), "\(line)")
        }
        for line in ["// public", "/// A public key.", "package let publicKey = 1", "let a = \"a.public\""] {
            #expect(!Self.isPublic(line), "\(line)")
        }
    }
}
