// SPDX-License-Identifier: Apache-2.0

/// `hybrid-relay serve` as a process, on a port of 127.0.0.1 that the system chooses.
package struct RelayProgram: Sendable {
    /// The process.
    package let program: RunningProgram
    /// The port for authenticators and clients.
    package let port: Int

    /// Starts a relay and returns when it listens.
    ///
    /// Requests may take a minute to arrive, because the machine may be busy.
    package static func start(
        _ options: [String],
        in folder: String,
        environment: [String: String] = SpawnedProcess.environment
    ) async throws -> RelayProgram {
        let program = try RunningProgram(
            "hybrid-relay",
            ["serve", "--listen", "127.0.0.1:0", "--head-timeout", "60"] + options,
            in: folder,
            environment: environment
        )
        let line = try await program.line { $0.contains(": listening on ") || $0.contains("\"listening on ") }
        guard let port = port(in: line) else {
            throw RunningProgram.TimedOut(description: "no port in: \(line)")
        }
        return RelayProgram(program: program, port: port)
    }

    /// Returns the port of 127.0.0.1 in a line of the relay's log.
    package static func port(in line: String) -> Int? {
        line.split(separator: "127.0.0.1:").last.flatMap { Int($0.prefix { $0.isNumber }) }
    }
}
