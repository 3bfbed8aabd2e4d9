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
        #expect(entries.count <= 15)
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

    /// Returns true for a line that declares or imports something publicly.
    private static func isPublic(_ line: String) -> Bool {
        let words = line.split(whereSeparator: \.isWhitespace).prefix { !$0.hasPrefix("//") }
        return words.contains("public") || words.contains { $0.hasPrefix("public(") }
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
