// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Source rules")
struct SourceTests {
    /// Folders with Swift files of the project, as far as the copy under test has them.
    private static let folders = [
        "Sources", "Tests", "Fuzz/Sources", "Desktop/Sources", "Desktop/Tests", "Shiny/Sources", "Shiny/Tests",
    ].filter {
        FileManager.default.fileExists(atPath: PackageFolder.path + "/" + $0)
    }
    private static let pure = [
        "Support/Primitives", "Protocol/CBOR", "Protocol/CTAP", "Protocol/SecurityKey", "CaBLE", "Protocol/SSHAgent",
        "Protocol/RelyingParty",
    ]

    let sources: [SourceFile]

    init() throws {
        sources = try SourceFile.all(in: "Sources")
        try #require(sources.count > 100, "sources not found")
    }

    /// `Primitives` is the exception for Glibc, which it needs for wiping memory and reading the clock.
    @Test("pure targets import no modules for sockets, files, clocks and threads", arguments: pure)
    func pureTargets(folder: String) throws {
        let files = sources.filter { $0.path.hasPrefix("Sources/\(folder)/") }
        try #require(files.count >= 3)
        let forbidden = [
            "Foundation", "FoundationEssentials", "Glibc", "Musl", "Darwin", "Dispatch", "Synchronization",
        ]
        for file in files {
            for (line, module) in file.imports {
                let isAllowed = folder == "Support/Primitives" && module == "Glibc"
                let isForbidden = forbidden.contains(module) && !isAllowed || module.hasPrefix("NIO")
                #expect(!isForbidden, "\(file.path):\(line) imports \(module)")
            }
        }
    }

    @Test("the relay's rules share nothing between threads, read no clock and do no I/O")
    func relayRules() throws {
        let allowed: Set = ["Crypto", "Glibc", "HybridCaBLE", "HybridPrimitives", "NIOCore"]
        let files = sources.filter { $0.path.hasPrefix("Sources/Relay/RelayCore/Rules/") }
        try #require(files.count > 20)
        for file in files {
            for (line, module) in file.imports {
                #expect(allowed.contains(module), "\(file.path):\(line) imports \(module)")
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

    @Test("sources import only what their target depends on, directly or through others")
    func declaredImports() async throws {
        let package = try await PackageDescription.read()
        let ownTargets = Set(package.targets.map(\.name))
        for file in sources {
            let target = try #require(package.target(of: file), "\(file.path) belongs to no target")
            let allowed = package.reachable(from: target)
            for (line, module) in file.imports where ownTargets.contains(module) {
                #expect(allowed.contains(module), "\(file.path):\(line) imports \(module)")
            }
        }
    }

    /// Its maintainers promise no stable interface.
    @Test("one target uses BoringSSL directly")
    func boringSSL() {
        let files = sources.filter { file in file.imports.contains { $0.1.hasPrefix("CNIOBoringSSL") } }
        #expect(files.count > 1)
        for file in files { #expect(file.path.hasPrefix("Sources/Transport/BoringTLS/"), "\(file.path)") }
    }

    @Test("there are no forced tries and casts")
    func noForce() {
        for file in sources {
            for (index, line) in file.lines.enumerated() {
                for word in Self.force where Self.code(line).contains(word) {
                    Issue.record("\(file.path):\(index + 1): \(word)")
                }
            }
        }
    }

    @Test("disabled concurrency checks have a comment about safety")
    func unchecked() {
        var found = 0
        for file in sources {
            for (index, line) in file.lines.enumerated() {
                guard Self.unchecked.contains(where: { Self.code(line).contains($0) }) else { continue }
                found += 1
                #expect(Self.isExplained(index, in: file.lines), "\(file.path):\(index + 1)")
            }
        }
        #expect(found > 0, "the search finds known places")
    }

    @Test(
        "every Swift file begins with its license",
        arguments: folders
    )
    func licenses(folder: String) throws {
        for file in try SourceFile.all(in: folder) {
            #expect(file.lines.first == "// SPDX-License-Identifier: Apache-2.0", "\(file.path)")
        }
    }

    @Test("documentation comments begin with a noun phrase or a verb in the third person")
    func documentationComments() throws {
        for file in try Self.folders.flatMap(SourceFile.all) {
            for (index, line) in file.lines.enumerated() where Self.beginsWithQuestionWord(line) {
                // The second line of a paragraph may begin with any word.
                guard index == 0 || !Self.isCommentText(file.lines[index - 1]) else { continue }
                Issue.record("\(file.path):\(index + 1): \(line.trimmingCharacters(in: .whitespaces))")
            }
        }
    }

    /// A child that makes an inherited pipe non-blocking does so for the tests, whose lines then get lost.
    @Test("programs that tests start do not inherit the output of the tests")
    func outputs() throws {
        var found = 0
        // Those of a child process itself are shells, which change no flags.
        for file in try SourceFile.all(in: "Tests") where !file.path.hasPrefix("Tests/Support/ThreadsTests/") {
            for (index, line) in file.lines.enumerated() where Self.code(line).contains(Self.start) {
                found += 1
                let call = file.lines[index...].prefix(10).joined()
                #expect(call.contains("output:") && call.contains("error:"), "\(file.path):\(index + 1)")
            }
        }
        #expect(found > 0, "the search finds known places")
    }

    // Concatenated, so that these lines are not found if tests are searched, too.
    private static let force = ["try" + "!", " as" + "! "]
    private static let start = "ChildProcess" + ".spawn("
    private static let unchecked = ["@unchecked" + " Sendable", "nonisolated" + "(unsafe)"]

    private static let questionWords = ["What", "Whether", "Who", "How", "Why", "Where", "Tells"]

    /// Returns true for a comment with text, which the next line may continue.
    private static func isCommentText(_ line: String) -> Bool {
        let text = line.trimmingCharacters(in: .whitespaces)
        return text.hasPrefix("//") && text.contains { $0 != "/" }
    }

    /// Returns true for a comment with two or three slashes whose first word is a question word or "Tells".
    private static func beginsWithQuestionWord(_ line: String) -> Bool {
        let text = line.trimmingCharacters(in: .whitespaces)
        guard text.hasPrefix("//") else { return false }
        let words = text.drop { $0 == "/" }.split(separator: " ")
        guard let word = words.first, text.dropFirst(2).first == " " || text.hasPrefix("/// ") else { return false }
        return questionWords.contains(String(word))
    }

    /// Returns a line without its comment.
    private static func code(_ line: String) -> String {
        line.firstRange(of: "//").map { String(line[..<$0.lowerBound]) } ?? line
    }

    /// Returns true if there is a comment above this line and its attributes, or one with SAFETY on this line or the
    /// next.
    ///
    /// Documentation comments (`///`) do not count.
    private static func isExplained(_ index: Int, in lines: [String]) -> Bool {
        if lines[index...].prefix(2).contains(where: { $0.contains("// SAFETY") }) { return true }
        var above = index - 1
        while above >= 0, lines[above].trimmingCharacters(in: .whitespaces).hasPrefix("@") { above -= 1 }
        guard above >= 0 else { return false }
        return lines[above].trimmingCharacters(in: .whitespaces).hasPrefix("// ")
    }

    @Test("are read correctly: imports are found in every form")
    func imports() {
        let cases: [(String, String?)] = [
            ("import Foundation", "Foundation"), ("public import NIOCore", "NIOCore"),
            ("@testable import HybridCaBLE", "HybridCaBLE"), ("  private import struct NIOCore.ByteBuffer", "NIOCore"),
            ("@_spi(Async) internal import NIOPosix", "NIOPosix"), ("@preconcurrency import Glibc", "Glibc"),
            ("// import Foundation", nil), ("let important = 1", nil), ("/// import X", nil), ("", nil),
        ]
        for (line, module) in cases { #expect(SourceFile.importedModule(line) == module, "\(line)") }
    }

    @Test("are read correctly: question words are found at the start of comments only")
    func questionWordsInComments() {
        for line in ["/// What it is.", "    // Whether it is.", "    /// Tells what it is."] {
            #expect(Self.beginsWithQuestionWord(line), "\(line)")
        }
        for line in ["/// Whatever.", "/// Returns what it is.", "let a = 1  // Why", "//What", ""] {
            #expect(!Self.beginsWithQuestionWord(line), "\(line)")
        }
    }

    @Test("are read correctly: comments explain, blank lines and code do not")
    func explanations() {
        let line = "final class A: @unchecked" + " Sendable {"
        #expect(Self.isExplained(1, in: ["// Accessed only under the lock.", line]))
        #expect(Self.isExplained(2, in: ["// Accessed only under the lock.", "@available(x)", line]))
        #expect(Self.isExplained(0, in: [line + "  // SAFETY: immutable"]))
        #expect(Self.isExplained(0, in: [line, "    // SAFETY of @unchecked: immutable"]))
        #expect(!Self.isExplained(0, in: [line]))
        #expect(!Self.isExplained(0, in: [line, "    // Nice."]))
        #expect(!Self.isExplained(1, in: ["/// A nice class.", line]))
        #expect(!Self.isExplained(2, in: ["// Something else.", "", line]))
        #expect(!Self.isExplained(1, in: ["let x = 1", line]))
    }
}
