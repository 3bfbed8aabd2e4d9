// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridAuthenticator
import TestSupport
import Testing

@testable import HybridVault

/// `hybrid-auth vault`, or another command on a vault, with a folder of its own and a user who enters prepared answers.
struct VaultProgram: Sendable {
    let folder: String

    var vault: String { folder + "/vault" }

    static let pin = "123456"
    static let passphrase = "correct horse battery staple orbit"

    /// Runs `body` in a new folder.
    static func run(_ body: @Sendable (VaultProgram) async throws -> Void) async throws {
        try await TestFolder.with { folder in
            try await TestUser.writeProgram(in: folder.path)
            try await body(VaultProgram(folder: folder.path))
        }
    }

    /// Creates the vault as `init` does, but at the lowest cost of a PIN attempt, because every later command makes one.
    func makeVault() async throws {
        var location = VaultLocation(directory: vault, stateDirectory: folder + "/state/hybrid")
        location.scrypt = .lowest
        let pin = try #require(Array(Self.pin.utf8).withUnsafeBytes { PIN(utf8: $0) })
        _ = try await Vault.create(at: location, pin: pin, isTest: false)
    }

    /// Runs a subcommand to its end.
    ///
    /// Each GETPIN is answered with the next of the answers, then cancelled. Standard input is `input`, or empty.
    func callAsFunction(
        _ arguments: [String],
        of command: String? = "vault",
        typing answers: [String] = [pin],
        confirming: Bool = true,
        variables: [String: String] = [:],
        under tracer: [String] = [],
        input: String? = nil
    ) async throws -> RunningProgram.Ending {
        let answerFile = "\(folder)/answers-\(UUID().uuidString.prefix(8))"
        try TestFile.write(answers.map { $0 + "\n" }.joined(), to: answerFile)
        var environment = SpawnedProcess.environment.merging([
            "HOME": folder, "XDG_STATE_HOME": folder + "/state", "XDG_DATA_HOME": folder + "/data",
            "TEST_ANSWERS": answerFile, "TEST_CONFIRMS": confirming ? "yes" : "no",
            "TEST_LOG": TestUser.log(in: folder),
        ]) { $1 }
        environment.merge(variables) { $1 }
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = nil
        var line = [command].compactMap(\.self) + arguments + ["--vault", vault]
        let asks = !["status", "forget"].contains(arguments.first)
        if asks { line += ["--pinentry", TestUser.program(in: folder)] }
        let program = tracer.first ?? "hybrid-auth"
        let before = tracer.isEmpty ? [] : Array(tracer.dropFirst()) + [BuildFolder.program("hybrid-auth")]
        let running = try RunningProgram(program, before + line, in: folder, environment: environment, input: input)
        return try await running.ending()
    }

    /// The commands that pinentry has received so far.
    var log: String { TestFile.text(TestUser.log(in: folder)) }

    /// Returns the contents of every file of the vault.
    func contents() -> [String: Data] { TestFile.contents(below: vault) }
}

/// Command lines under which `hybrid-auth` cannot write files.
enum Tracer {
    /// No file may grow: like a full disk, every write fails.
    static let fullDisk = ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]

    private static let script = PackageFolder.path + "/Tests/Phone/VaultFormat/watched_calls.py"

    /// True if the kernel lets one process decide about system calls of another.
    static let canWatch = Task {
        guard let python = Python.interpreter else { return false }
        return try await SpawnedProcess([python, script, "--check"]).end() == 0
    }

    /// Returns a command line that stops system calls on files below the folders, as `watched_calls.py` describes.
    static func watching(_ folders: [String], log: String, _ options: [String]) throws -> [String] {
        [try Python.path(), script] + folders.flatMap { ["--below", $0] } + ["--log", log] + options + ["--"]
    }
}
