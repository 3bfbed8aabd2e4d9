// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

/// A named pipe that a relay has as standard error.
private final class LogPipe {
    let path: String
    private let reader: CInt
    private var bytes: [UInt8] = []

    init(_ path: String) throws {
        self.path = path
        try #require(mkfifo(path, 0o600) == 0)
        reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(reader >= 0)
    }

    deinit { close(reader) }

    /// The text that has been read.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The whole lines that have been read.
    var lines: ArraySlice<Substring> {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    }

    /// Reads what is there; returns false if there is nothing.
    @discardableResult
    func readAll() -> Bool {
        var (chunk, hasRead) = ([UInt8](repeating: 0, count: 4096), false)
        while true {
            let count = read(reader, &chunk, chunk.count)
            guard count > 0 else { return hasRead }
            bytes += chunk[..<count]
            hasRead = true
        }
    }

    /// Makes the pipe hold one page only.
    func shrink() {
        let setPipeSize: CInt = 1031  // F_SETPIPE_SZ is declared only with _GNU_SOURCE.
        _ = fcntl(reader, setPipeSize, 4096)
    }

    /// Starts a relay that writes to the pipe, and reads the lines about its ports.
    func relay(in folder: String, _ options: [String] = []) async throws -> RelayProcess {
        let program = try RunningProgram(
            "hybrid-relay",
            [
                "serve", "--plaintext", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-level",
                "debug",
            ] + options,
            in: folder,
            environment: RelayProcess.environment(),
            errors: path
        )
        var listening: [Substring] = []
        try await Waiting.until("both ports") {
            readAll()
            listening = lines.filter { $0.contains("listening on ") }
            return listening.count == 2
        }
        let ports = listening.compactMap { RelayProgram.port(in: String($0)) }
        try #require(ports.count == 2)
        let isAdminFirst = listening[0].contains("admin")
        return RelayProcess(
            folder: folder,
            program: program,
            port: ports[isAdminFirst ? 1 : 0],
            adminPort: ports[isAdminFirst ? 0 : 1]
        )
    }
}

@Suite("The reader of the relay's log", .timeLimit(.minutes(5)))
struct LogReaderTests {
    private static let lost = "hybrid_relay_log_lines_lost_total"

    @Test("a relay goes on without what reads its log, and counts the lines that are lost")
    func unreadLog() async throws {
        try await Folder.with { folder in
            var log: LogPipe? = try LogPipe(folder + "/log")
            let relay = try #require(try await log?.relay(in: folder))
            defer { relay.program.send(SIGKILL) }
            log = nil
            do {
                let (phone, head) = try await relay.phone()
                #expect(head.hasPrefix("HTTP/1.1 101 "))
                _ = phone
            }
            // The line about the end of the tunnel.
            try await Waiting.until("the count") { try await relay.metric(Self.lost) ?? 0 > 0 }
        }
    }

    @Test(
        "a program that has the log open and does not read it stops neither tunnels nor the end",
        arguments: ["console", "json"]
    )
    func blockedLog(format: String) async throws {
        try await Folder.with { folder in
            let log = try LogPipe(folder + "/log")
            let relay = try await log.relay(in: folder, ["--log-format", format])
            defer { relay.program.send(SIGKILL) }
            log.shrink()
            try await fill(relay)

            let (phone, head) = try await relay.phone()
            let routing = try #require(head.split(separator: "X-caBLE-Routing-ID: ").last).prefix(6)
            let path = "/cable/connect/\(routing)/\(String(repeating: "a", count: 32))"
            let (client, clientHead) = try await relay.ask(path)
            #expect(clientHead.hasPrefix("HTTP/1.1 101 "))
            try await phone.send([0x82, 0x81, 0, 0, 0, 0, 7])
            #expect(try await client.read(3) == [0x82, 1, 7])

            // Once the log is read, it says how much is missing.
            try await Waiting.until("the line about lost lines") {
                log.readAll()
                try await end(of: relay)
                return log.lines.contains { $0.contains(" of this log were lost because nothing read them") }
            }
            let line = log.lines.first { $0.contains(" of this log were lost") } ?? ""
            let start = format == "json" ? #"{"time":""# : "hybrid-relay: warning: "
            #expect(line.hasPrefix(start), "\(line)")

            try await fill(relay)
            _ = (phone, client)
            relay.program.send(SIGINT)
            try await Waiting.until("the end of the relay") {
                // This waits for the process if it has ended.
                relay.program.send(0)
                return kill(relay.program.identifier, 0) != 0
            }
        }
    }

    /// Makes the relay write lines until one is lost.
    private func fill(_ relay: RelayProcess) async throws {
        let before = try #require(try await relay.metric(Self.lost))
        try await Waiting.until("a lost line") {
            try await end(of: relay)
            return try await relay.metric(Self.lost) ?? 0 > before
        }
    }

    /// Opens and ends a tunnel, about which the relay writes a line.
    private func end(of relay: RelayProcess) async throws {
        _ = try await relay.phone(tunnel: "b")
    }
}
