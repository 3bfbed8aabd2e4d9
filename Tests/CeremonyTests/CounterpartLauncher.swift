// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

/// Launcher of the counterparts in Python: one process that has loaded the libraries and forks for each program.
///
/// Loading them anew in each of a hundred ceremonies would take longer than the ceremonies. The process starts with the
/// first program.
final class CounterpartLauncher: Sendable {
    /// The folder of the counterparts.
    static let folder = PackageFolder.path + "/Tests/Counterparts"

    private struct Launcher {
        let process: RunningProgram
        let jobs: FileHandle
    }

    private let folder: String
    private let environment: [String: String]
    private let launcher = Mutex<Launcher?>(nil)

    init(folder: String, environment: [String: String]) {
        self.folder = folder
        self.environment = environment
    }

    /// Ends the process and all programs that it runs.
    func close() async throws {
        let process: RunningProgram? = try launcher.withLock { launcher in
            try launcher?.jobs.close()
            defer { launcher = nil }
            return launcher?.process
        }
        _ = try await process?.ending(within: .seconds(60))
    }

    /// Starts a program; a name without a slash is one of the counterparts.
    func start(_ name: String, _ arguments: [String], input: String) throws -> Counterpart {
        let program = name.hasPrefix("/") ? name : "\(Self.folder)/\(name)"
        let base = "\(folder)/\(UUID().uuidString.prefix(8))-\(name.split(separator: "/").last ?? "program")"
        try TestFile.write(input, to: base + ".in")
        let job = try JSONEncoder().encode(Job(program: program, arguments: arguments, base: base))
        try launcher.withLock { launcher in
            let running = try launcher ?? launch()
            launcher = running
            try running.jobs.write(contentsOf: job + Data("\n".utf8))
        }
        return Counterpart(name: name, base: base)
    }

    private func launch() throws -> Launcher {
        let path = folder + "/jobs-\(UUID().uuidString.prefix(8))"
        guard mkfifo(path, 0o600) == 0 else { throw RunningProgram.TimedOut(description: "no FIFO at \(path)") }
        // Opened for reading, too, so that opening does not wait for the other side.
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw RunningProgram.TimedOut(description: "no FIFO at \(path)") }
        let jobs = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let arguments = [Self.folder + "/workshop.py", path]
        let process = try RunningProgram(try Python.path(), arguments, in: folder, environment: environment)
        return Launcher(process: process, jobs: jobs)
    }

    private struct Job: Encodable {
        let program: String
        let arguments: [String]
        let base: String
    }
}

/// A program that the launcher runs.
struct Counterpart: Sendable {
    let name: String
    let base: String

    /// Waits for the first line on standard output.
    func firstLine(within limit: Duration = .seconds(60)) async throws -> String {
        var line: Substring?
        try await Waiting.until("a line of \(name)", within: limit, evidence: contents(".err")) {
            // Read first: once the program has ended, its output is complete.
            let hasEnded = !contents(".status").isEmpty
            let output = contents(".out")
            line = output.firstIndex(of: "\n").map { output[..<$0] }
            if line == nil, hasEnded {
                throw RunningProgram.TimedOut(description: "\(name) ended without a line: \(contents(".err"))")
            }
            return line != nil
        }
        return line.map(String.init) ?? ""
    }

    /// Waits for the end and returns the result.
    func ending(within limit: Duration = .seconds(90)) async throws -> RunningProgram.Ending {
        try await Waiting.until("the end of \(name)", within: limit, evidence: contents(".err")) {
            !contents(".status").isEmpty
        }
        return RunningProgram.Ending(
            status: Int32(contents(".status")) ?? -1,
            output: contents(".out"),
            errors: contents(".err")
        )
    }

    private func contents(_ suffix: String) -> String { TestFile.text(base + suffix) }
}
