// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// A TPM 2.0 in a process of its own (swtpm), with a log of all commands and responses.
///
/// It has no resource manager: it refuses further objects and sessions while three are not flushed.
package final class SoftwareTPM: Sendable {
    private let folder: String
    private let process: SpawnedProcess

    /// The address in the notation of libtss2.
    package var configuration: String { "swtpm:path=\(folder)/socket" }

    /// Starts a TPM whose state is in a new folder, or in an existing one after ``stop()``.
    ///
    /// - Parameters:
    ///   - folder: A short path, because a socket's path has at most 107 bytes.
    ///   - failures: Wrong authorization values that cause a lockout; swtpm allows three.
    ///   - interval: Seconds until one of them is forgotten.
    package init(in folder: String, failures: Int = 32, interval: Int = 600) async throws {
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for name in ["socket", "socket.ctrl"] { try? FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
        process = try SpawnedProcess([
            "swtpm", "socket", "--tpm2", "--tpmstate", "dir=\(folder)", "--flags", "not-need-init,startup-clear",
            "--server", "type=unixio,path=\(folder)/socket", "--ctrl", "type=unixio,path=\(folder)/socket.ctrl",
            "--log", "file=\(folder)/log,level=20",
        ])
        try await Waiting.until("the sockets of swtpm", evidence: TestFile.text("\(folder)/log")) {
            ["socket", "socket.ctrl"].allSatisfy { FileManager.default.fileExists(atPath: "\(folder)/\($0)") }
        }
        try await run(
            "tpm2_dictionarylockout",
            "--setup-parameters",
            "--max-tries",
            "\(failures)",
            "--recovery-time",
            "\(interval)",
            "--lockout-recovery-time",
            "\(interval)"
        )
    }

    /// Runs one of the tpm2-tools with this TPM and returns its output.
    @discardableResult
    package func run(_ command: String...) async throws -> String {
        let output = "\(folder)/\(UUID().uuidString)"
        let program = try SpawnedProcess(
            command + ["--tcti", configuration],
            environment: SpawnedProcess.environment.merging(["HOME": folder]) { $1 },
            output: output,
            errors: output
        )
        let status = try await program.end()
        guard status == 0 else {
            throw RunningProgram.TimedOut(description: "\(command) ended with \(status): \(TestFile.text(output))")
        }
        return TestFile.text(output)
    }

    /// Handles of objects and sessions that were not flushed.
    package func leftovers() async throws -> String {
        var found = ""
        for kind in ["handles-transient", "handles-loaded-session"] { found += try await run("tpm2_getcap", kind) }
        return found
    }

    /// All bytes that were sent to the TPM or received from it, in hexadecimal.
    package var traffic: String {
        TestFile.text("\(folder)/log").split(separator: "\n")
            .filter { $0.allSatisfy { $0.isHexDigit || $0 == " " } }
            .joined().filter { $0 != " " }.lowercased()
    }

    /// Ends the process; the state stays.
    package func stop() async throws {
        try await Waiting.until("the end of swtpm") {
            // Repeated, because swtpm 0.10 forgets a signal that arrives while a client disconnects.
            process.send(15)
            return process.exitStatus != nil
        }
    }
}
