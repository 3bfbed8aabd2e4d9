// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import HybridThreads
import Logging
import NIOCore
import Testing

@Suite("The admin listener", .timeLimit(.minutes(10)))
struct AdminTests {
    private func ask(
        _ address: SocketAddress,
        _ line: String,
        host: String = "localhost"
    ) async throws -> (head: String, body: String) {
        let client = try await RawClient.connect(to: address)
        try await client.send(Array("\(line) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n".utf8))
        let head = try await client.readHead()
        return (head, String(decoding: await client.readToEnd(), as: UTF8.self))
    }

    @Test("reports the relay's state to balancers")
    func answers() async throws {
        let health = Locked(RelayHealth.starting)
        let admin = AdminServer(
            address: try SocketAddress(ipAddress: "127.0.0.1", port: 0),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            health: { health.withLock { $0 } },
            metrics: { "hybrid_relay_tunnels_open 3\n" }
        )
        let address = try await admin.start()
        let expected: [(RelayHealth, ready: String, alive: String)] = [
            (.starting, "503", "200"), (.ready, "200", "200"), (.draining, "404", "200"), (.broken, "503", "503"),
            (.stopped, "503", "200"),
        ]
        for (state, ready, alive) in expected {
            health.withLock { $0 = state }
            let readiness = try await ask(address, "GET /readyz")
            #expect(readiness.head.hasPrefix("HTTP/1.1 \(ready) ") && readiness.body == "\(state.rawValue)\n")
            #expect(try await ask(address, "GET /healthz?x=1").head.hasPrefix("HTTP/1.1 \(alive) "))
        }
        let metrics = try await ask(address, "GET /metrics")
        #expect(metrics.head.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
        #expect(metrics.body == "hybrid_relay_tunnels_open 3\n")
        #expect(try await ask(address, "HEAD /metrics").body == "")
        #expect(try await ask(address, "POST /metrics").head.hasPrefix("HTTP/1.1 405 "))
        for path in ["/", "/metrics/", "/cable/new/00", "//metrics", "*"] {
            #expect(try await ask(address, "GET \(path)").head.hasPrefix("HTTP/1.1 404 "), "\(path)")
        }
        #expect(try await ask(address, "nonsense").head.hasPrefix("HTTP/1.1 400 "))
        await admin.shutdown()
        // Another test may have taken the port, or the connection connects to itself. Only the closed listener gives this response.
        let afterwards = try? await ask(address, "GET /metrics")
        #expect(afterwards?.body != "hybrid_relay_tunnels_open 3\n")
    }

    @Test("answers only under addresses, localhost and configured names, not under a name that points here")
    func hosts() async throws {
        let admin = AdminServer(
            address: try SocketAddress(ipAddress: "127.0.0.1", port: 0),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            hosts: ["node1.example.org"],
            health: { .ready },
            metrics: { "" }
        )
        let address = try await admin.start()
        let own = ["localhost", "LocalHost:9100", "192.0.2.1:80", "[2001:db8::1]", "[::1]:9100", "Node1.example.org:1"]
        for host in own {
            #expect(try await ask(address, "GET /metrics", host: host).head.hasPrefix("HTTP/1.1 200 "), "\(host)")
        }
        let others = [
            "evil.example", "node1.example.org.evil.example", "localhost.evil.example", "", "127.0.0.1.nip.io:1",
        ]
        for host in others {
            #expect(try await ask(address, "GET /metrics", host: host).head.hasPrefix("HTTP/1.1 421 "), "\(host)")
        }
        await admin.shutdown()
    }

    @Test("answers targets in absolute form, whose host replaces Host")
    func absoluteForm() async throws {
        let admin = AdminServer(
            address: try SocketAddress(ipAddress: "127.0.0.1", port: 0),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            health: { .ready },
            metrics: { "" }
        )
        let address = try await admin.start()
        for (target, status) in [
            ("http://localhost/metrics", 200), ("HTTPS://127.0.0.1:9100/readyz?x=1", 200),
            ("http://evil.example/metrics", 421), ("http:///metrics", 421), ("http://localhost", 404),
            ("http://localhost?/metrics", 404), ("ftp://localhost/metrics", 404),
        ] {
            #expect(try await ask(address, "GET \(target)").head.hasPrefix("HTTP/1.1 \(status) "), "\(target)")
        }
        let other = try await ask(address, "GET http://localhost/metrics", host: "evil.example")
        #expect(other.head.hasPrefix("HTTP/1.1 200 "))
        await admin.shutdown()
    }

    @Test("answers several requests on one connection")
    func keepAlive() async throws {
        let admin = AdminServer(
            address: try SocketAddress(ipAddress: "127.0.0.1", port: 0),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            health: { .ready },
            metrics: { "" }
        )
        let client = try await RawClient.connect(to: try await admin.start())
        for _ in 0..<3 {
            try await client.send(Array("HEAD /readyz HTTP/1.1\r\nHost: 127.0.0.1:9100\r\n\r\n".utf8))
            #expect(try await client.readHead().hasPrefix("HTTP/1.1 200 "))
        }
        await admin.shutdown()
    }
}
