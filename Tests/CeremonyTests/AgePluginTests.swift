// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("The plug-in of age, by any name", .timeLimit(.minutes(5)))
struct AgePluginTests {
    /// The names of links to the program, in this order: the last one leads to the second.
    private static let links = ["hybrid-key", "age-plugin-phone", "other", "age-plugin-fido2prf"]

    @Test("answers conversations that need no phone, through links and links to links", arguments: links)
    func conversations(name: String) async throws {
        try await TestFolder.with { folder in
            let program = try Self.link(name, in: folder)
            var count = 0
            for vector in try VectorFile.load("secrets.json").value("plugin").list("cases") {
                guard try vector.number("approvals") == 0 else { continue }
                count += 1
                let label = try vector.text("name")
                let expected = try vector.list("expect").map { try $0.text("command") }
                // The client's answers; the plug-in reads no more than it needs.
                let answers = String(repeating: "-> ok\n\n", count: 9)
                let run = try RunningProgram(
                    program,
                    ["--age-plugin=" + (try vector.text("machine"))],
                    in: folder.path,
                    environment: SpawnedProcess.environment.merging(["HOME": folder.path]) { $1 },
                    input: try vector.text("phase1") + answers
                )
                let ending = try await run.ending()
                let lines = ending.output.split(separator: "\n").filter { $0.hasPrefix("-> ") }
                let commands = lines.map { String($0.split(separator: " ")[1]) }
                #expect(ending.status == 0, "\(ending)")
                #expect(commands == expected + ["done"], "\(label): \(ending)")
            }
            #expect(count >= 9)
        }
    }

    private static func link(_ name: String, in folder: TestFolder) throws -> String {
        let target =
            name == "age-plugin-fido2prf" ? try link("age-plugin-phone", in: folder) : BuildFolder.program("hybrid-key")
        guard name != "hybrid-key" else { return target }
        let path = "\(folder.path)/\(name)"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        return path
    }

    @Test("refuses an unknown state machine and other input, and writes nothing")
    func refusals() async throws {
        try await TestFolder.with { folder in
            for (machine, input, status) in [
                ("other-v1", "", 64), ("identity-v1", "hello\n", 65), ("identity-v1", "", 65),
            ] {
                let run = try RunningProgram(
                    "hybrid-key",
                    ["--age-plugin=" + machine],
                    in: folder.path,
                    environment: SpawnedProcess.environment.merging(["HOME": folder.path]) { $1 },
                    input: input
                )
                let ending = try await run.ending()
                #expect(Int(ending.status) == status && ending.output.isEmpty, "\(ending)")
                #expect(ending.errors.split(separator: "\n").count == 1, "\(ending)")
            }
        }
    }
}
