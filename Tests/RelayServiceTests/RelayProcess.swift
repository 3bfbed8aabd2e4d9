// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `hybrid-relay serve` as a process of its own, in a folder of its own.
struct RelayProcess {
    let folder: String
    let program: RunningProgram
    let port: Int
    let adminPort: Int?

    /// Runs a relay on loopback ports that the system chooses, and `body` with it; both are gone afterwards.
    static func run(
        _ options: [String] = ["--plaintext"],
        environment: [String: String] = [:],
        _ body: (RelayProcess) async throws -> Void
    ) async throws {
        try await Folder.with { folder in
            let program = try RunningProgram(
                "hybrid-relay",
                // A busy machine takes its time with a request, too.
                ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--head-timeout", "60"]
                    + options.map { $0.replacing("FOLDER", with: folder) },
                in: folder,
                environment: Self.environment(environment)
            )
            defer { program.send(SIGKILL) }
            let admin = try await program.line { $0.contains("admin listening on ") }
            let listening = try await program.line { $0.contains(": listening on ") || $0.contains("\"listening on ") }
            try await body(
                RelayProcess(
                    folder: folder,
                    program: program,
                    port: try #require(Self.port(in: listening)),
                    adminPort: Self.port(in: admin)
                )
            )
        }
    }

    /// This process's variables without settings of its own.
    static func environment(_ additions: [String: String] = [:]) -> [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HYBRID_") }.merging(additions) { $1 }
    }

    /// How a command of the relay ends.
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

    private static func port(in line: String) -> Int? {
        line.split(separator: "127.0.0.1:").last.flatMap { Int($0.prefix { $0.isNumber }) }
    }

    /// The body of an answer of the admin listener, and its status.
    func admin(_ path: String) async throws -> (status: Int, body: String) {
        let answer = try await Conversation.exchange(
            port: try #require(adminPort),
            "GET \(path) HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n"
        )
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let status = try #require(answer.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        return (status, parts.count == 2 ? String(parts[1]) : "")
    }

    /// The value of a metric without labels, or of one whole series.
    func metric(_ series: String) async throws -> Double? {
        try await admin("/metrics").body.split(separator: "\n").first { $0.hasPrefix(series + " ") }
            .flatMap { Double($0.dropFirst(series.count + 1)) }
    }

    /// Opens a phone's connection; its head is read.
    func phone(tunnel: Character = "a", adding: String = "") async throws -> (Conversation, head: String) {
        try await ask("/cable/new/\(String(repeating: tunnel, count: 32))", adding: adding)
    }

    /// Asks for a path as phones and clients do.
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

/// A folder of a test.
enum Folder {
    static func with(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/relay-service-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await body(folder)
        // Kept as evidence where the body threw.
        try FileManager.default.removeItem(atPath: folder)
    }

    static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }
}
