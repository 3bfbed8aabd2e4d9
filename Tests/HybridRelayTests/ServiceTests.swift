// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("The relay as a service", .timeLimit(.minutes(10)))
struct ServiceTests {
    private static let close1001: [UInt8] = [0x88, 2, 0x03, 0xE9]

    @Test("serves metrics and state only on the admin port, and all metrics from the start")
    func admin() async throws {
        try await RelayProcess.run { relay in
            #expect(try await relay.admin("/readyz") == (200, "ready\n"))
            #expect(try await relay.admin("/healthz") == (200, "ready\n"))
            let (phone, head) = try await relay.phone()
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            // The metrics may be updated after the response.
            for name in ["tunnels_total", "tunnels_open"] {
                try await Waiting.until(name) { try await relay.metric("hybrid_relay_\(name)") == 1 }
            }
            let text = try await relay.admin("/metrics").body
            for name in [
                "tunnels_total 1", "tunnels_open 1", "tunnel_bytes_total 0", "tunnel_ends_total{reason=\"idle\"} 0",
                "tunnel_ends_total{reason=\"unresponsive\"} 0", "listeners 0", "contacts_held 0",
                "wakeups_total{outcome=\"no_listener\"} 0", "wakeups_total{outcome=\"joined\"} 0",
                "listeners_replaced_total 0", "refusals_total{status=\"429\"} 0",
                "connections_refused_total{reason=\"source\"} 0", "draining 0", "buffered_bytes 0",
                "reloads_total{part=\"limits\",result=\"done\"} 0", "build_info{version=\"",
            ] {
                #expect(text.contains("\nhybrid_relay_" + name), "\(name)")
            }
            #expect(text.contains("\nprocess_resident_memory_bytes "))
            for path in ["/metrics", "/readyz", "/healthz"] {
                #expect(try await relay.ask(path).head.hasPrefix("HTTP/1.1 404 "), "the public port")
            }
            _ = phone
        }
    }

    @Test("offers linked phones only with a contact host", arguments: [nil, "relay.example"])
    func contactHost(host: String?) async throws {
        try await RelayProcess.run(["--plaintext"] + (host.map { ["--contact-host", $0] } ?? [])) { relay in
            let id = "AQ" + String(repeating: "A", count: 32)
            let subprotocol = "Sec-WebSocket-Protocol: hybrid-relay.listen.v1\r\n"
            let (phone, head) = try await relay.ask("/cable/listen/\(id)", adding: subprotocol)
            #expect(head.hasPrefix(host == nil ? "HTTP/1.1 404 " : "HTTP/1.1 101 "))
            _ = phone
        }
    }

    @Test("gauges return to zero after a tunnel has ended")
    func gauges() async throws {
        try await RelayProcess.run { relay in
            do {
                let (phone, _) = try await relay.phone()
                try await Waiting.until("the gauges") { try await relay.metric("hybrid_relay_tunnels_waiting") == 1 }
                try await Waiting.until("the connection") {
                    try await relay.metric("hybrid_relay_connections_open") == 1
                }
                _ = phone
            }
            for gauge in ["tunnels_open", "tunnels_waiting", "connections_open", "buffered_bytes"] {
                try await Waiting.until(gauge) { try await relay.metric("hybrid_relay_\(gauge)") == 0 }
            }
            try await Waiting.until("the end") {
                try await relay.metric("hybrid_relay_tunnel_ends_total{reason=\"abandoned\"}") == 1
            }
        }
    }

    @Test("SIGTERM finishes tunnels, refuses new ones, notifies balancers and exits with 0")
    func drains() async throws {
        try await RelayProcess.run { relay in
            let (phone, _) = try await relay.phone()
            relay.program.send(SIGTERM)
            try await Waiting.until("the drain") { try await relay.admin("/readyz") == (404, "draining\n") }
            #expect(try await relay.admin("/healthz").status == 200)
            #expect(try await relay.phone(tunnel: "b").head.hasPrefix("HTTP/1.1 503 "))
            #expect(try await relay.metric("hybrid_relay_draining") == 1)
            // A close frame with code 1000, masked with zeroes.
            try await phone.send([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8])
            _ = try await phone.readToEnd()
            #expect(try await relay.program.ending().status == 0)
        }
    }

    @Test("a second SIGTERM, SIGINT and the end of the grace period close with 1001 and exit with 0")
    func immediateShutdown() async throws {
        for (options, signals) in [([], [SIGTERM, SIGTERM]), ([], [SIGINT]), (["--drain-grace", "0.3"], [SIGTERM])] {
            try await RelayProcess.run(["--plaintext"] + options) { relay in
                let (phone, _) = try await relay.phone()
                relay.program.send(signals[0])
                if signals.count > 1 {
                    try await Waiting.until("the drain") { try await relay.admin("/readyz").status == 404 }
                    relay.program.send(signals[1])
                }
                #expect(try await phone.readToEnd() == Self.close1001, "\(options) \(signals)")
                #expect(try await relay.program.ending().status == 0)
            }
        }
    }

    @Test("tokens are created, accepted from phones, and reloaded when the file changes")
    func tokens() async throws {
        try await Folder.with { folder in
            let file = folder + "/tokens"
            let made = try await RelayProcess.command(["new-token", "phone-1", "--file", file], in: folder)
            #expect(made.status == 0 && made.errors == "")
            let token = made.output.trimmingCharacters(in: .newlines)
            #expect(token.count == 43)
            let content = try String(contentsOfFile: file, encoding: .utf8)
            #expect(content.hasPrefix("phone-1 ") && !content.contains(token), "the file contains a hash")
            try await RelayProcess.run(["--plaintext", "--new-token-file", file]) { relay in
                #expect(try await relay.phone().head.hasPrefix("HTTP/1.1 401 "))
                let field = "Authorization: Bearer \(token)\r\n"
                #expect(try await relay.phone(adding: field).head.hasPrefix("HTTP/1.1 101 "))
                try await Waiting.until("the token's metric") {
                    try await relay.metric("hybrid_relay_new_by_token_total{token=\"phone-1\"}") == 1
                }

                let second = try await RelayProcess.command(["new-token", "phone-2", "--file", file], in: folder)
                _ = try await relay.program.line { $0.contains("tokens reloaded") }
                let other = "Authorization: Bearer \(second.output.trimmingCharacters(in: .newlines))\r\n"
                #expect(try await relay.phone(tunnel: "b", adding: other).head.hasPrefix("HTTP/1.1 101 "))

                try Folder.write("nonsense\n", to: file)
                relay.program.send(SIGHUP)
                let error = try await relay.program.line { $0.contains("kept the old tokens") }
                #expect(error.contains("line 1") && !error.contains("nonsense"))
                #expect(try await relay.phone(tunnel: "c", adding: field).head.hasPrefix("HTTP/1.1 101 "))
                #expect(!relay.program.errors.contains(token))
            }
            let twice = try await RelayProcess.command(["new-token", "phone-1", "--file", file], in: folder)
            #expect(twice.status == 78 && twice.output == "")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "nonsense\n", "the file is unchanged")
        }
    }

    @Test("a token that could not be printed is not added to the file", arguments: ["", "# owner\n", "# no newline"])
    func unseenToken(_ before: String) async throws {
        try await Folder.with { folder in
            let file = folder + "/tokens"
            try Folder.write(before, to: file)
            let arguments = ["new-token", "phone-1", "--file", file]
            let full = try await RelayProcess.command(arguments, in: folder, output: "/dev/full")
            #expect(
                full.status == 74 && full.lastLine.hasSuffix("nothing was added to \(file), so try again"),
                "\(full)"
            )
            #expect(try String(contentsOfFile: file, encoding: .utf8) == before)
            // The same if standard output is closed, where the file would take its descriptor.
            let closed = try await RunningProgram(
                "/bin/sh",
                ["-c", #"exec "$0" "$@" >&-"#, BuildFolder.program("hybrid-relay")] + arguments,
                in: folder,
                environment: RelayProcess.environment()
            ).ending()
            #expect(closed.status == 74 && closed.lastLine.contains("standard output"), "\(closed)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == before)
            #expect(try await RelayProcess.command(arguments, in: folder).status == 0)
        }
    }

    @Test("a name has one token, and a second one is refused")
    func takenName() async throws {
        try await Folder.with { folder in
            let file = folder + "/tokens"
            let arguments = ["new-token", "phone-1", "--file", file]
            #expect(try await RelayProcess.command(arguments, in: folder).status == 0)
            let content = try String(contentsOfFile: file, encoding: .utf8)
            let again = try await RelayProcess.command(arguments, in: folder)
            #expect(again.status == 64 && again.output == "", "\(again)")
            let sentence = "\(file) already has a token for phone-1; remove that line or choose another name"
            #expect(again.lastLine == "hybrid-relay: \(sentence)", "\(again)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == content)
        }
    }

    @Test("SIGHUP reloads the limits, and keeps the old ones if the file is invalid")
    func limits() async throws {
        try await Folder.with { folder in
            let file = folder + "/relay.env"
            try Folder.write("# a test\nHYBRID_PLAINTEXT=yes\nHYBRID_MAX_TUNNELS=1\n", to: file)
            try await RelayProcess.run(["--config", file]) { relay in
                let (first, _) = try await relay.phone()
                #expect(try await relay.phone(tunnel: "b").head.hasPrefix("HTTP/1.1 503 "))
                try Folder.write("HYBRID_PLAINTEXT=yes\nHYBRID_MAX_TUNNELS=many\n", to: file)
                relay.program.send(SIGHUP)
                let error = try await relay.program.line { $0.contains("kept the old limits") }
                #expect(error.contains("HYBRID_MAX_TUNNELS") && error.contains("line 2"))
                #expect(try await relay.phone(tunnel: "b").head.hasPrefix("HTTP/1.1 503 "))
                try Folder.write("HYBRID_PLAINTEXT=yes\nHYBRID_MAX_TUNNELS=2\n", to: file)
                relay.program.send(SIGHUP)
                _ = try await relay.program.line { $0.contains("limits reloaded") }
                #expect(try await relay.phone(tunnel: "b").head.hasPrefix("HTTP/1.1 101 "))
                _ = first
            }
        }
    }

    @Test("limits of a changed file are applied, and settings that need a restart are logged")
    func watchedLimits() async throws {
        try await Folder.with { folder in
            let file = folder + "/relay.env"
            try Folder.write("HYBRID_PLAINTEXT=yes\nHYBRID_MAX_TUNNELS=1\n", to: file)
            try await RelayProcess.run(["--config", file]) { relay in
                let (first, _) = try await relay.phone()
                try Folder.write("HYBRID_PLAINTEXT=yes\nHYBRID_MAX_TUNNELS=2\nHYBRID_NODE=7\n", to: file)
                _ = try await relay.program.line { $0.contains("takes effect only after a restart: node") }
                #expect(try await relay.phone(tunnel: "b").head.hasPrefix("HTTP/1.1 101 "))
                // An error is logged once, however often the file is polled, and again on SIGHUP.
                try Folder.write("HYBRID_MAX_TUNNELS=many\n", to: file)
                _ = try await relay.program.line { $0.contains("kept the old limits") }
                #expect(try await relay.metric(#"hybrid_relay_reloads_total{part="limits",result="kept"}"#) == 1)
                relay.program.send(SIGHUP)
                try await Waiting.until("a second error") {
                    relay.program.errors.split(separator: "kept the old limits").count == 3
                }
                _ = first
            }
        }
    }

    @Test("a port in use is named, and the exit status is 69")
    func taken() async throws {
        try await RelayProcess.run { relay in
            let command = ["serve", "--plaintext", "--listen", "127.0.0.1:\(relay.port)"]
            let ending = try await RelayProcess.command(command, in: relay.folder)
            #expect(ending.status == 69 && ending.errors.contains("127.0.0.1:\(relay.port): another program"))
        }
    }

    @Test("the log has tunnels but nothing that identifies users", arguments: ["console", "json"])
    func privacy(format: String) async throws {
        try await RelayProcess.run(["--plaintext", "--log-format", format]) { relay in
            let tunnel = String(repeating: "7", count: 32)
            var routing = ""
            do {
                let (phone, head) = try await relay.phone(tunnel: "7")
                routing = try #require(head.split(separator: "X-caBLE-Routing-ID: ").last.map { String($0.prefix(6)) })
                let (client, joined) = try await relay.ask("/cable/connect/\(routing)/\(tunnel)")
                #expect(joined.hasPrefix("HTTP/1.1 101 "))
                _ = try await relay.ask("/cable/connect/\(routing)/\(String(repeating: "8", count: 32))")
                _ = (phone, client)
            }
            let line = try await relay.program.line { $0.contains("tunnel ended") }
            #expect(line.contains(format == "json" ? #""paired":"true""# : "paired=true"), "\(line)")
            relay.program.send(SIGTERM)
            let log = try await relay.program.ending().errors
            // Only the operator's own listening addresses may be logged.
            let others = log.split(separator: "\n").filter { !$0.contains("listening on") }.joined(separator: "\n")
            for secret in [tunnel, routing, String(repeating: "8", count: 32), "127.0.0.1"] {
                #expect(!others.contains(secret), "\(secret)")
            }
        }
    }
}
