// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One of the product's programs (or any other) as a process of its own, its outputs in files.
public final class RunningProgram: Sendable {
    /// Waited for something that did not come.
    public struct TimedOut: Error, CustomStringConvertible {
        /// What, and what there was instead.
        public let description: String

        /// Puts an error together.
        public init(description: String) { self.description = description }
    }

    /// How a program ended.
    public struct Ending: CustomStringConvertible {
        /// The exit status.
        public let status: Int32
        /// Standard output.
        public let output: String
        /// Standard error.
        public let errors: String

        /// Puts an ending together.
        public init(status: Int32, output: String, errors: String) {
            (self.status, self.output, self.errors) = (status, output, errors)
        }

        /// The last line on standard error, where programs say why they failed.
        public var lastLine: String { errors.split(separator: "\n").last.map(String.init) ?? "" }
        /// All of it.
        public var description: String { "status \(status)\nstdout: \(output)\nstderr: \(errors)" }
    }

    private let process: SpawnedProcess
    private let outputPath: String
    private let errorPath: String
    /// The program, as it was named.
    public let name: String

    /// Starts a program of the build (`hybrid-auth`) or one by its path.
    public init(
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

    /// Standard output, so far.
    public var output: String { Self.contents(outputPath) }
    /// Standard error, so far.
    public var errors: String { Self.contents(errorPath) }

    /// Its process ID, for as long as it runs.
    public var identifier: Int32 { process.identifier }

    /// Sends a signal.
    public func send(_ signal: Int32) { process.send(signal) }

    /// Waits until a whole line on standard error satisfies a condition, and returns it.
    public func line(within limit: Duration = .seconds(60), where matches: (Substring) -> Bool) async throws -> String {
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
    public func ending(within limit: Duration = .seconds(90)) async throws -> Ending {
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
