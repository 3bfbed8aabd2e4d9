// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import Testing

@testable import HybridCommandSupport

/// A program that reads `environment.d` with systemd's parser of `EnvironmentFile=`.
private let generator = "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator"

@Suite("systemd's own parser")
struct SystemdReadsTheSameTests {
    @Test(
        "reads the same values from every text that ours accepts",
        .enabled(if: FileManager.default.isExecutableFile(atPath: generator), "needs systemd")
    )
    func same() async throws {
        var random = SeededGenerator()
        var expected: [String: String] = [:]
        var text = ""
        // No `$`, which environment.d expands and `EnvironmentFile=` does not.
        let pieces = ["a", "b", " ", "\t", "\\", "'", "\"", "#", ";", "=", "`", "ä", "\\\n", "\n", "  ", "\\ "]
        while expected.count < 1500 {
            let name = "K\(expected.count)"
            let value = (0..<random.number(0...8)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            let line = "\(name)=\(value)\n"
            guard let file = try? EnvironmentFile(Array(line.utf8)), file.assignments.count == 1 else { continue }
            expected[name] = file.assignments[0].value
            text += line
        }
        let folder = FileManager.default.temporaryDirectory.path() + "/environment-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder + "/environment.d",
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(text.utf8).write(to: URL(filePath: folder + "/environment.d/test.conf"))
        let process = try SpawnedProcess(
            [generator],
            environment: ["XDG_CONFIG_HOME": folder, "PATH": "/usr/bin:/bin"],
            output: folder + "/output"
        )
        #expect(try await process.end() == 0)
        let output = try String(decoding: Data(contentsOf: URL(filePath: folder + "/output")), as: UTF8.self)
        var read: [String: String] = [:]
        for line in output.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if expected[parts[0]] != nil { read[parts[0]] = Self.unquoted(parts[1]) }
        }
        // environment.d unsets a name without a value.
        for (name, value) in expected { #expect(read[name] ?? "" == value, "\(name)") }
    }

    /// Returns a value without the double quotes and escapes of C that the program may add.
    private static func unquoted(_ text: String) -> String {
        guard text.hasPrefix("\""), text.hasSuffix("\""), text.count >= 2 else { return text }
        var value = ""
        var escaped = false
        for character in text.dropFirst().dropLast() {
            switch (escaped, character) {
            case (false, "\\"):
                escaped = true
                continue
            case (true, "n"): value += "\n"
            case (true, "t"): value += "\t"
            default: value.append(character)
            }
            escaped = false
        }
        return value
    }
}
