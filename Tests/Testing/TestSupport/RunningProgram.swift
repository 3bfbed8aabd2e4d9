// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A process of one of the project's programs, or of any other, with its outputs in files.
package final class RunningProgram: Sendable {
    /// An event that did not occur in time, or cannot occur any more.
    package struct TimedOut: Error, CustomStringConvertible {
        /// The expected event, and what happened instead.
        package let description: String

        /// Creates an error.
        package init(description: String) { self.description = description }
    }

    /// The result of a program.
    package struct Ending: CustomStringConvertible {
        /// The exit status.
        package let status: Int32
        /// Standard output.
        package let output: String
        /// Standard error.
        package let errors: String

        /// Creates a result.
        package init(status: Int32, output: String, errors: String) {
            (self.status, self.output, self.errors) = (status, output, errors)
        }

        /// The last line on standard error, where programs report the cause of a failure.
        package var lastLine: String { errors.split(separator: "\n").last.map(String.init) ?? "" }
        /// The status and both outputs.
        package var description: String { "status \(status)\nstdout: \(output)\nstderr: \(errors)" }
    }

    private let process: SpawnedProcess
    private let outputPath: String
    private let errorPath: String
    /// The program's name or path.
    package let name: String

    /// Starts a program of the build, such as `hybrid-auth`, or any program by its path.
    package init(
        _ name: String,
        _ arguments: [String],
        in folder: String,
        environment: [String: String] = SpawnedProcess.environment,
        input: String? = nil,
        output: String? = nil,
        errors: String? = nil
    ) throws {
        self.name = name
        let base = "\(folder)/\(UUID().uuidString.prefix(8))-\(name.split(separator: "/").last ?? "program")"
        outputPath = output ?? base + ".out"
        errorPath = errors ?? base + ".err"
        if let input { try Data(input.utf8).write(to: URL(fileURLWithPath: base + ".in")) }
        process = try SpawnedProcess(
            [name.hasPrefix("/") ? name : BuildFolder.program(name)] + arguments,
            environment: environment,
            input: input == nil ? "/dev/null" : base + ".in",
            output: outputPath,
            errors: errorPath
        )
    }

    /// Standard output so far.
    package var output: String { Self.contents(outputPath) }
    /// Standard error so far.
    package var errors: String { Self.contents(errorPath) }

    /// The process ID.
    package var identifier: Int32 { process.identifier }

    /// Sends a signal.
    package func send(_ signal: Int32) { process.send(signal) }

    /// Waits until a whole line on standard error satisfies a condition, and returns it.
    package func line(within limit: Duration = .seconds(60), where matches: (Substring) -> Bool) async throws -> String
    {
        var found: String?
        try await Waiting.until("a line of \(name)", within: limit, evidence: self.errors) {
            // Read first: once the program has ended, its output is complete.
            let hasEnded = self.process.exitStatus != nil
            let whole = self.errors.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            found = whole.first(where: matches).map(String.init)
            if found == nil, hasEnded {
                throw TimedOut(description: "\(name) ended without that line: \(self.errors)")
            }
            return found != nil
        }
        return found ?? ""
    }

    /// Waits for the end and returns the result.
    package func ending(within limit: Duration = .seconds(90)) async throws -> Ending {
        try await Waiting.until("the end of \(name)", within: limit, evidence: self.errors) {
            self.process.exitStatus != nil
        }
        return Ending(status: process.exitStatus ?? -1, output: output, errors: errors)
    }

    private static func contents(_ path: String) -> String {
        // Reading a device such as /dev/full would not end.
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            attributes[.type] as? FileAttributeType == .typeRegular
        else { return "" }
        return String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
}
