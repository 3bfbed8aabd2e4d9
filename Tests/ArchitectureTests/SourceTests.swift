// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("The rules for sources")
struct SourceTests {
    private static let pure = ["HybridCBOR", "HybridCTAP", "HybridCaBLE"]

    let sources: [SourceFile]

    init() throws {
        sources = try SourceFile.all(in: "Sources")
        try #require(sources.count > 100, "the sources were found")
    }

    @Test("pure targets import no sockets, files, clocks and threads", arguments: pure)
    func pureTargets(target: String) throws {
        let files = sources.filter { $0.target == target }
        try #require(files.count >= 4)
        let forbidden = [
            "Foundation", "FoundationEssentials", "Glibc", "Musl", "Darwin", "Dispatch", "Synchronization",
        ]
        for file in files {
            for (line, module) in file.imports {
                let isForbidden = forbidden.contains(module) || module.hasPrefix("NIO")
                #expect(!isForbidden, "\(file.path):\(line) imports \(module)")
            }
        }
    }

    @Test("no source imports full Foundation")
    func noFoundation() {
        for file in sources {
            for (line, module) in file.imports {
                let isFull = module == "Foundation" || module == "FoundationNetworking" || module == "FoundationXML"
                #expect(!isFull, "\(file.path):\(line)")
            }
        }
    }

    @Test("sources import what their target depends on")
    func declaredImports() async throws {
        let package = try await PackageDescription.read()
        let ownTargets = Set(package.targets.map(\.name))
        for file in sources {
            let target = try #require(package[file.target], "\(file.path) belongs to no target")
            for (line, module) in file.imports where ownTargets.contains(module) {
                #expect(target.local.contains(module), "\(file.path):\(line) imports \(module)")
            }
        }
    }

    @Test("nothing is tried or cast by force")
    func noForce() {
        for file in sources {
            for (index, line) in file.lines.enumerated() {
                for word in Self.force where Self.code(line).contains(word) {
                    Issue.record("\(file.path):\(index + 1): \(word)")
                }
            }
        }
    }

    @Test("who turns the concurrency checks off says in a comment why that is safe")
    func unchecked() {
        var found = 0
        for file in sources {
            for (index, line) in file.lines.enumerated() {
                guard Self.unchecked.contains(where: { Self.code(line).contains($0) }) else { continue }
                found += 1
                #expect(Self.isExplained(index, in: file.lines), "\(file.path):\(index + 1)")
            }
        }
        #expect(found > 0, "the search finds what is known to be there")
    }

    @Test(
        "every Swift file begins with its licence",
        arguments: ["Sources", "Tests", "Fuzz/Sources"].filter {
            FileManager.default.fileExists(atPath: PackageFolder.path + "/" + $0)
        }
    )
    func licences(folder: String) throws {
        for file in try SourceFile.all(in: folder) {
            #expect(file.lines.first == "// SPDX-License-Identifier: Apache-2.0", "\(file.path)")
        }
    }

    // Put together, so that these lines are not found themselves if tests are ever searched, too.
    private static let force = ["try" + "!", " as" + "! "]
    private static let unchecked = ["@unchecked" + " Sendable", "nonisolated" + "(unsafe)"]

    /// A line without its comment.
    private static func code(_ line: String) -> String {
        line.firstRange(of: "//").map { String(line[..<$0.lowerBound]) } ?? line
    }

    /// Whether a comment directly above, over attributes, says why, or one that names SAFETY on this line or the next;
    /// what is said of the type to its users (`///`) explains nothing.
    private static func isExplained(_ index: Int, in lines: [String]) -> Bool {
        if lines[index...].prefix(2).contains(where: { $0.contains("// SAFETY") }) { return true }
        var above = index - 1
        while above >= 0, lines[above].trimmingCharacters(in: .whitespaces).hasPrefix("@") { above -= 1 }
        guard above >= 0 else { return false }
        return lines[above].trimmingCharacters(in: .whitespaces).hasPrefix("// ")
    }

    @Test("are read right: imports are found in every form")
    func imports() {
        let cases: [(String, String?)] = [
            ("import Foundation", "Foundation"), ("public import NIOCore", "NIOCore"),
            ("@testable import HybridCaBLE", "HybridCaBLE"), ("  private import struct NIOCore.ByteBuffer", "NIOCore"),
            ("@_spi(Async) internal import NIOPosix", "NIOPosix"), ("@preconcurrency import Glibc", "Glibc"),
            ("// import Foundation", nil), ("let important = 1", nil), ("/// import X", nil), ("", nil),
        ]
        for (line, module) in cases { #expect(SourceFile.importedModule(line) == module, "\(line)") }
    }

    @Test("are read right: comments explain, blank lines and code do not")
    func explanations() {
        let line = "final class A: @unchecked" + " Sendable {"
        #expect(Self.isExplained(1, in: ["// Only touched under the lock.", line]))
        #expect(Self.isExplained(2, in: ["// Only touched under the lock.", "@available(x)", line]))
        #expect(Self.isExplained(0, in: [line + "  // SAFETY: immutable"]))
        #expect(Self.isExplained(0, in: [line, "    // SAFETY of @unchecked: immutable"]))
        #expect(!Self.isExplained(0, in: [line]))
        #expect(!Self.isExplained(0, in: [line, "    // Nice."]))
        #expect(!Self.isExplained(1, in: ["/// A nice class.", line]))
        #expect(!Self.isExplained(2, in: ["// Something else.", "", line]))
        #expect(!Self.isExplained(1, in: ["let x = 1", line]))
    }
}
