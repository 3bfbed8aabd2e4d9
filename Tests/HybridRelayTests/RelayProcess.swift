// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `hybrid-relay serve` as a separate process in its own folder.
struct RelayProcess {
    let folder: String
    let program: RunningProgram
    let port: Int
    let adminPort: Int?

    /// Runs a relay on loopback ports chosen by the system for the duration of `body`.
    static func run(
        _ options: [String] = ["--plaintext"],
        environment: [String: String] = [:],
        _ body: (RelayProcess) async throws -> Void
    ) async throws {
        try await Folder.with { folder in
            let relay = try await RelayProgram.start(
                ["--admin-listen", "127.0.0.1:0"] + options.map { $0.replacing("FOLDER", with: folder) },
                in: folder,
                environment: Self.environment(environment)
            )
            defer { relay.program.send(SIGKILL) }
            let admin = try await relay.program.line { $0.contains("admin listening on ") }
            let adminPort = RelayProgram.port(in: admin)
            try await body(
                RelayProcess(folder: folder, program: relay.program, port: relay.port, adminPort: adminPort)
            )
        }
    }

    /// Returns this process's environment without HYBRID_ variables, with additions.
    static func environment(_ additions: [String: String] = [:]) -> [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HYBRID_") }.merging(additions) { $1 }
    }

    /// Runs a command of the relay and returns its result.
    static func command(
        _ arguments: [String],
        in folder: String,
        environment: [String: String] = [:],
        output: String? = nil
    ) async throws -> RunningProgram.Ending {
        let program = try RunningProgram(
            "hybrid-relay",
            arguments,
            in: folder,
            environment: Self.environment(environment),
            output: output
        )
        return try await program.ending(within: .seconds(60))
    }

    /// Requests a path of the admin listener.
    func admin(_ path: String) async throws -> (status: Int, body: String) {
        let answer = try await Conversation.exchange(
            port: try #require(adminPort),
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let status = try #require(answer.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        return (status, parts.count == 2 ? String(parts[1]) : "")
    }

    /// Returns the value of a metric without labels, or of one series.
    func metric(_ series: String) async throws -> Double? {
        try await admin("/metrics").body.split(separator: "\n").first { $0.hasPrefix(series + " ") }
            .flatMap { Double($0.dropFirst(series.count + 1)) }
    }

    /// Opens a phone's connection and reads the head of the response.
    func phone(tunnel: Character = "a", adding: String = "") async throws -> (Conversation, head: String) {
        try await ask("/cable/new/\(String(repeating: tunnel, count: 32))", adding: adding)
    }

    /// Requests a path like a phone or client.
    func ask(_ path: String, adding: String = "") async throws -> (Conversation, head: String) {
        let conversation = try await Conversation.open(port: port)
        try await conversation.send(
            Array(
                ("GET \(path) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    + "Sec-WebSocket-Protocol: fido.cable\r\n\(adding)\r\n").utf8
            )
        )
        return (conversation, try await conversation.readHead())
    }
}

/// A temporary folder of a test.
enum Folder {
    static func with(_ body: (String) async throws -> Void) async throws {
        try await TestFolder.with { try await body($0.path) }
    }

    static func write(_ text: String, to path: String) throws { try TestFile.write(text, to: path) }
}
