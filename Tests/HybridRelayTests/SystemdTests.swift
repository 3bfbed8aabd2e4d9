// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("The relay under a service manager", .timeLimit(.minutes(10)))
struct SystemdTests {
    /// A datagram socket that stands in for the service manager's.
    private final class Manager {
        let path: String
        private let descriptor: Int32

        init(in folder: String) throws {
            path = folder + "/notify"
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(path.utf8)
            try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(result == 0)
        }

        deinit { close(descriptor) }

        /// Returns the next message without waiting.
        func next() -> String? {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
        }

        /// Waits for a message with this line.
        ///
        /// Earlier messages are skipped.
        func expect(_ line: String) async throws {
            try await Waiting.until("\(line) from the relay") {
                while let text = next() {
                    if text.split(separator: "\n").contains(where: { $0 == line }) { return true }
                }
                return false
            }
        }
    }

    @Test("reports READY, WATCHDOG, RELOADING and STOPPING")
    func notify() async throws {
        try await Folder.with { folder in
            let manager = try Manager(in: folder)
            let variables = ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "2000000"]
            try await RelayProcess.run(environment: variables) { relay in
                try await manager.expect("READY=1")
                try await manager.expect("WATCHDOG=1")
                try await manager.expect("WATCHDOG=1")
                relay.program.send(SIGHUP)
                try await manager.expect("RELOADING=1")
                try await manager.expect("READY=1")
                relay.program.send(SIGTERM)
                try await manager.expect("STOPPING=1")
                #expect(try await relay.program.ending().status == 0)
            }
        }
    }

    @Test("uses the sockets of systemd-socket-activate instead of opening its own")
    func activation() async throws {
        try await Folder.with { folder in
            // A free port, which the manager opens at its start. The separate address keeps other tests from taking it.
            let host = "127.31.41.60"
            let port = try FreePort.any(of: host)
            let manager = try RunningProgram(
                "/usr/bin/systemd-socket-activate",
                ["--listen", "\(host):\(port)", BuildFolder.program("hybrid-relay"), "serve", "--plaintext"],
                in: folder,
                environment: RelayProcess.environment()
            )
            defer { manager.send(SIGKILL) }
            _ = try await manager.line { $0.contains("Listening on") }
            // The first connection starts the relay and is served by it.
            let answer = try await Conversation.exchange(host: host, port: port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 404 "))
            // The log line may follow the first response.
            _ = try await manager.line { $0.hasSuffix("hybrid-relay: listening on \(host):\(port)") }
            manager.send(SIGTERM)
            #expect(try await manager.ending().status == 0, "the process is now the relay")
        }
    }
}

/// A TCP port of an address that is free at the moment.
enum FreePort {
    static func any(of host: String) throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr(host)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(result)
        return Int(address.sin_port.bigEndian)
    }
}
