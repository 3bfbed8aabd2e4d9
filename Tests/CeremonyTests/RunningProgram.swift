// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// One of the product's programs (or any other) as a process of its own, its outputs in files.
final class RunningProgram: Sendable {
    /// Waited for something that did not come.
    struct TimedOut: Error, CustomStringConvertible {
        let description: String
    }

    /// How a program ended.
    struct Ending: CustomStringConvertible {
        let status: Int32
        let output: String
        let errors: String

        /// The last line on standard error, where programs say why they failed.
        var lastLine: String { errors.split(separator: "\n").last.map(String.init) ?? "" }
        var description: String { "status \(status)\nstdout: \(output)\nstderr: \(errors)" }
    }

    private let process: SpawnedProcess
    private let outputPath: String
    private let errorPath: String
    let name: String

    /// Starts a program of the build (`hybrid-auth`) or one by its path.
    init(
        _ name: String,
        _ arguments: [String],
        in folder: String,
        environment: [String: String],
        input: String? = nil,
        output: String? = nil
    ) throws {
        self.name = name
        let base = "\(folder)/\(UUID().uuidString.prefix(8))-\(name.split(separator: "/").last ?? "program")"
        outputPath = output ?? base + ".out"
        errorPath = base + ".err"
        if let input { try Data(input.utf8).write(to: URL(fileURLWithPath: base + ".in")) }
        process = try SpawnedProcess(
            [name.hasPrefix("/") ? name : BuildFolder.program(name)] + arguments,
            environment: environment,
            input: input == nil ? "/dev/null" : base + ".in",
            output: outputPath,
            errors: errorPath
        )
    }

    var output: String { Self.contents(outputPath) }
    var errors: String { Self.contents(errorPath) }

    func send(_ signal: Int32) { process.send(signal) }

    /// Waits until a whole line on standard error satisfies a condition, and returns it.
    func line(within limit: Duration = .seconds(60), where matches: (Substring) -> Bool) async throws -> String {
        var found: String?
        try await Waiting.until("a line of \(name)", within: limit, evidence: self.errors) {
            // Looked at first: what it printed before it ended is all there then.
            let hasEnded = self.process.exitStatus != nil
            let whole = self.errors.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            found = whole.first(where: matches).map(String.init)
            if found == nil, hasEnded {
                throw TimedOut(description: "\(name) ended without it: \(self.errors)")
            }
            return found != nil
        }
        return found ?? ""
    }

    /// Waits until it ends.
    func ending(within limit: Duration = .seconds(90)) async throws -> Ending {
        try await Waiting.until("the end of \(name)", within: limit, evidence: self.errors) {
            self.process.exitStatus != nil
        }
        return Ending(status: process.exitStatus ?? -1, output: output, errors: errors)
    }

    private static func contents(_ path: String) -> String {
        // A device such as /dev/full has no content of ours, and no end.
        guard !path.hasPrefix("/dev/") else { return "" }
        return String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
}

/// Waiting for a state, never for a time.
enum Waiting {
    static func until(
        _ what: String,
        within limit: Duration = .seconds(30),
        evidence: @autoclosure () -> String = "",
        _ condition: () async throws -> Bool
    ) async throws {
        let end = ContinuousClock.now + limit
        while try await !condition() {
            guard ContinuousClock.now < end else {
                throw RunningProgram.TimedOut(description: "waited \(limit) for \(what)\n\(evidence())")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}

/// Where the programs under test lie: in HYBRID_TEST_PROGRAMS, or beside the test bundle that runs now.
enum BuildFolder {
    static let path: String = {
        if let named = ProcessInfo.processInfo.environment["HYBRID_TEST_PROGRAMS"] { return named }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let folder = URL(fileURLWithPath: own).deletingLastPathComponent().path
        if FileManager.default.isExecutableFile(atPath: folder + "/hybrid-relay") { return folder }
        return URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent(".build/debug").path
    }()

    static func program(_ name: String) -> String { "\(path)/\(name)" }
}
