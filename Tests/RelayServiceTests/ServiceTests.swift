// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("The relay as a service", .timeLimit(.minutes(10)))
struct ServiceTests {
    private static let close1001: [UInt8] = [0x88, 2, 0x03, 0xE9]

    @Test("shows its figures and its state on the admin port alone, and every figure from the start")
    func admin() async throws {
        try await RelayProcess.run { relay in
            #expect(try await relay.admin("/readyz") == (200, "ready\n"))
            #expect(try await relay.admin("/healthz") == (200, "ready\n"))
            let (phone, head) = try await relay.phone()
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            // The phone may have its answer before the figures have it.
            for figure in ["tunnels_total", "tunnels_open"] {
                try await Waiting.until(figure) { try await relay.metric("hybrid_relay_\(figure)") == 1 }
            }
            let text = try await relay.admin("/metrics").body
            for name in [
                "tunnels_total 1", "tunnels_open 1", "tunnel_bytes_total 0", "tunnel_ends_total{reason=\"idle\"} 0",
                "tunnel_ends_total{reason=\"unresponsive\"} 0", "refusals_total{status=\"429\"} 0",
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

    @Test("a tunnel's figures go back to nothing when it is over")
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

    @Test("SIGTERM lets a tunnel finish, opens none, tells balancers and ends with 0")
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

    @Test("a second SIGTERM, an interrupt, and the end of the grace close with 1001 and end with 0")
    func hurried() async throws {
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

    @Test("tokens: made by the program, taken by phones, read again when the file changes")
    func tokens() async throws {
        try await Folder.with { folder in
            let file = folder + "/tokens"
            let made = try await RelayProcess.command(["new-token", "phone-1", "--file", file], in: folder)
            #expect(made.status == 0 && made.errors == "")
            let token = made.output.trimmingCharacters(in: .newlines)
            #expect(token.count == 43)
            let content = try String(contentsOfFile: file, encoding: .utf8)
            #expect(content.hasPrefix("phone-1 ") && !content.contains(token), "the file holds a hash")
            try await RelayProcess.run(["--plaintext", "--new-token-file", file]) { relay in
                #expect(try await relay.phone().head.hasPrefix("HTTP/1.1 401 "))
                let field = "Authorization: Bearer \(token)\r\n"
                #expect(try await relay.phone(adding: field).head.hasPrefix("HTTP/1.1 101 "))
                try await Waiting.until("the token's figure") {
                    try await relay.metric("hybrid_relay_new_by_token_total{token=\"phone-1\"}") == 1
                }

                let second = try await RelayProcess.command(["new-token", "phone-2", "--file", file], in: folder)
                _ = try await relay.program.line { $0.contains("tokens read again") }
                let other = "Authorization: Bearer \(second.output.trimmingCharacters(in: .newlines))\r\n"
                #expect(try await relay.phone(tunnel: "b", adding: other).head.hasPrefix("HTTP/1.1 101 "))

                try Folder.write("nonsense\n", to: file)
                relay.program.send(SIGHUP)
                let complaint = try await relay.program.line { $0.contains("kept the old tokens") }
                #expect(complaint.contains("line 1") && !complaint.contains("nonsense"))
                #expect(try await relay.phone(tunnel: "c", adding: field).head.hasPrefix("HTTP/1.1 101 "))
                #expect(!relay.program.errors.contains(token))
            }
            let twice = try await RelayProcess.command(["new-token", "phone-1", "--file", file], in: folder)
            #expect(twice.status == 78 && twice.output == "")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "nonsense\n", "nothing lost")
        }
    }

    @Test("a token that nobody got to see is in no file", arguments: ["", "# whose\n", "# no newline"])
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
            // Not even where the file would get the number of standard output.
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

    @Test("a name has one token, and who asks for a second is told")
    func takenName() async throws {
        try await Folder.with { folder in
            let file = folder + "/tokens"
            let arguments = ["new-token", "phone-1", "--file", file]
            #expect(try await RelayProcess.command(arguments, in: folder).status == 0)
            let content = try String(contentsOfFile: file, encoding: .utf8)
            let again = try await RelayProcess.command(arguments, in: folder)
            #expect(again.status == 64 && again.output == "", "\(again)")
            let sentence = "\(file) has a token for phone-1 already; take that line out or choose another name"
            #expect(again.lastLine == "hybrid-relay: \(sentence)", "\(again)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == content)
        }
    }

    @Test("SIGHUP reads limits of the file again, and keeps the old ones where the file is wrong")
    func limits() async throws {
        try await Folder.with { folder in
            let file = folder + "/relay.env"
            try Folder.write("# a test\nHYBRID_PLAINTEXT=yes\nHYBRID_MAX_TUNNELS=1\n", to: file)
            try await RelayProcess.run(["--config", file]) { relay in
                let (first, _) = try await relay.phone()
                #expect(try await relay.phone(tunnel: "b").head.hasPrefix("HTTP/1.1 503 "))
                try Folder.write("HYBRID_PLAINTEXT=yes\nHYBRID_MAX_TUNNELS=many\n", to: file)
                relay.program.send(SIGHUP)
                let complaint = try await relay.program.line { $0.contains("kept the old limits") }
                #expect(complaint.contains("HYBRID_MAX_TUNNELS") && complaint.contains("line 2"))
                #expect(try await relay.phone(tunnel: "b").head.hasPrefix("HTTP/1.1 503 "))
                try Folder.write("HYBRID_PLAINTEXT=yes\nHYBRID_MAX_TUNNELS=2\n", to: file)
                relay.program.send(SIGHUP)
                _ = try await relay.program.line { $0.contains("limits read again") }
                #expect(try await relay.phone(tunnel: "b").head.hasPrefix("HTTP/1.1 101 "))
                _ = first
            }
        }
    }

    @Test("limits of a file that has changed count, and what only a restart can change is named")
    func watchedLimits() async throws {
        try await Folder.with { folder in
            let file = folder + "/relay.env"
            try Folder.write("HYBRID_PLAINTEXT=yes\nHYBRID_MAX_TUNNELS=1\n", to: file)
            try await RelayProcess.run(["--config", file]) { relay in
                let (first, _) = try await relay.phone()
                try Folder.write("HYBRID_PLAINTEXT=yes\nHYBRID_MAX_TUNNELS=2\nHYBRID_NODE=7\n", to: file)
                _ = try await relay.program.line { $0.contains("only a restart will apply it: node") }
                #expect(try await relay.phone(tunnel: "b").head.hasPrefix("HTTP/1.1 101 "))
                // What is wrong is told once, however often it is looked at, and again to who asks.
                try Folder.write("HYBRID_MAX_TUNNELS=many\n", to: file)
                _ = try await relay.program.line { $0.contains("kept the old limits") }
                #expect(try await relay.metric(#"hybrid_relay_reloads_total{part="limits",result="kept"}"#) == 1)
                relay.program.send(SIGHUP)
                try await Waiting.until("a second complaint") {
                    relay.program.errors.split(separator: "kept the old limits").count == 3
                }
                _ = first
            }
        }
    }

    @Test("a port that another program has is named, and ends the relay with 69")
    func taken() async throws {
        try await RelayProcess.run { relay in
            let command = ["serve", "--plaintext", "--listen", "127.0.0.1:\(relay.port)"]
            let ending = try await RelayProcess.command(command, in: relay.folder)
            #expect(ending.status == 69 && ending.errors.contains("127.0.0.1:\(relay.port): another program"))
        }
    }

    @Test("what is logged tells of tunnels and never whose", arguments: ["console", "json"])
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
            // The addresses of listeners are the operator's own; ports of strangers are none of them.
            let others = log.split(separator: "\n").filter { !$0.contains("listening on") }.joined(separator: "\n")
            for secret in [tunnel, routing, String(repeating: "8", count: 32), "127.0.0.1"] {
                #expect(!others.contains(secret), "\(secret)")
            }
        }
    }
}
