// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

/// A connection to an SSH agent.
private final class AgentClient {
    private let descriptor: CInt

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Asks for the list of keys; returns true if it is empty, and false if the agent closes the connection.
    func isAnswered() -> Bool {
        let request: [UInt8] = [0, 0, 0, 1, 11]
        guard send(descriptor, request, request.count, CInt(MSG_NOSIGNAL)) == request.count else { return false }
        var answer = [UInt8](repeating: 0, count: 9)
        return recv(descriptor, &answer, answer.count, CInt(MSG_WAITALL)) == 9
            && answer == [0, 0, 0, 5, 12, 0, 0, 0, 0]
    }
}

@Suite("The SSH agent with few file descriptors", .timeLimit(.minutes(2)))
struct AgentDescriptorTests {
    @Test("serves the connections that it has descriptors for, and closes the others with the reason")
    func fewDescriptors() async throws {
        try await TestFolder.with { folder in
            let (socket, other) = (folder.path + "/agent.sock", folder.path + "/other.sock")
            var environment = SpawnedProcess.environment
            environment["XDG_STATE_HOME"] = folder.path + "/state"
            let program = BuildFolder.program("hybrid-key")
            let upstream = try RunningProgram(
                program,
                ["agent", "--socket", other],
                in: folder.path,
                environment: environment
            )
            defer { upstream.send(SIGKILL) }
            _ = try await upstream.line { $0.contains("listening on ") }
            let agent = try RunningProgram(
                "/bin/sh",
                [
                    "-c", "ulimit -n 128 && exec \"$@\"", "sh", program, "agent", "--socket", socket, "--upstream",
                    other,
                ],
                in: folder.path,
                environment: environment
            )
            defer { agent.send(SIGKILL) }
            _ = try await agent.line { $0.contains("listening on ") }

            let clients = try (0..<60).map { _ in try AgentClient(socket) }
            let served = clients.filter { $0.isAnswered() }
            #expect(served.count == (128 - 64) / 3)
            let line = try await agent.line { $0.contains("too many connections") }
            #expect(
                line.contains("(21); ") && line.hasSuffix("or raise the limit on open files (LimitNOFILE)"),
                "\(line)"
            )
            for client in served { #expect(client.isAnswered()) }
        }
    }
}
