// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// The counterparts in Python: one process that has its libraries loaded and forks for each program.
///
/// Starting Python anew for each of a hundred ceremonies would cost more than the ceremonies.
final class Workshop: Sendable {
    /// Where the programs are.
    static let programs = PackageFolder.path + "/Tests/Counterparts"
    /// The relying party of all tests here.
    private static let site = PackageFolder.path + "/Tests/CeremonyTests/relying_party.py"

    private let stage: Stage
    private let process: RunningProgram
    private let jobs: FileHandle

    private init(_ stage: Stage) throws {
        guard let python = RelyingParty.interpreter else {
            throw RelyingParty.Refused(description: "HYBRID_TEST_PYTHON is not set")
        }
        let path = stage.folder + "/jobs-\(UUID().uuidString.prefix(8))"
        guard mkfifo(path, 0o600) == 0 else { throw RunningProgram.TimedOut(description: "no FIFO at \(path)") }
        // For reading too: then opening does not wait for the other side.
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw RunningProgram.TimedOut(description: "no FIFO at \(path)") }
        self.stage = stage
        jobs = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        process = try RunningProgram(
            python,
            [Self.programs + "/workshop.py", path],
            in: stage.folder,
            environment: stage.environment(["PYTHONDONTWRITEBYTECODE": "1"])
        )
    }

    /// Runs `body` with a workshop; its programs are gone when this returns or throws.
    static func run<Result>(
        on stage: Stage,
        _ body: (Workshop) async throws -> Result
    ) async throws -> Result {
        let workshop = try Workshop(stage)
        do {
            let result = try await body(workshop)
            try await workshop.close()
            return result
        } catch {
            try? await workshop.close()
            throw error
        }
    }

    private func close() async throws {
        try jobs.close()
        _ = try await process.ending(within: .seconds(60))
    }

    /// Starts a program; its name without a slash is one of the counterparts.
    func start(_ name: String, _ arguments: [String], input: String) throws -> Counterpart {
        let program = name.hasPrefix("/") ? name : "\(Self.programs)/\(name)"
        let base = "\(stage.folder)/\(UUID().uuidString.prefix(8))-\(name.split(separator: "/").last ?? "program")"
        try Data(input.utf8).write(to: URL(fileURLWithPath: base + ".in"))
        let job = Job(program: program, arguments: arguments, base: base)
        try jobs.write(contentsOf: JSONEncoder().encode(job) + Data("\n".utf8))
        return Counterpart(name: name, base: base)
    }

    /// A counterpart that takes part in a ceremony on the stage.
    func start(_ name: String, on stage: Stage, _ arguments: [String], input: String) throws -> Counterpart {
        let network = ["--relay", "127.0.0.1:\(stage.relayPort)", "--ca", stage.folder + "/ca.pem"]
        return try start(name, network + arguments, input: input)
    }

    /// What the relying party says; it must agree.
    @discardableResult
    func site(_ command: String, _ flags: [String] = [], input: String = "") async throws -> String {
        let party = try start(Self.site, [command, stage.folder + "/site.json"] + flags, input: input)
        let ending = try await party.ending()
        guard ending.status == 0 else { throw RelyingParty.Refused(description: "\(command): \(ending)") }
        return ending.output
    }

    private struct Job: Encodable {
        let program: String
        let arguments: [String]
        let base: String
    }
}

/// A program that the workshop runs.
struct Counterpart: Sendable {
    let name: String
    let base: String

    /// The first line on standard output, once it is there.
    func firstLine(within limit: Duration = .seconds(60)) async throws -> String {
        var line: Substring?
        try await Waiting.until("a line of \(name)", within: limit, evidence: contents(".err")) {
            // Looked at first: what it printed before it ended is all there then.
            let hasEnded = !contents(".status").isEmpty
            let output = contents(".out")
            line = output.firstIndex(of: "\n").map { output[..<$0] }
            if line == nil, hasEnded {
                throw RunningProgram.TimedOut(description: "\(name) ended without it: \(contents(".err"))")
            }
            return line != nil
        }
        return line.map(String.init) ?? ""
    }

    /// How it ended.
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

    private func contents(_ suffix: String) -> String {
        String(decoding: FileManager.default.contents(atPath: base + suffix) ?? Data(), as: UTF8.self)
    }
}

extension RunningProgram.Ending {
    /// The last line on standard output, where counterparts put their result.
    var lastOutput: String { output.split(separator: "\n").last.map(String.init) ?? "" }
}
