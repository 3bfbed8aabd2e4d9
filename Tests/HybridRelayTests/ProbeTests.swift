// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("The prober of relays", .timeLimit(.minutes(10)))
struct ProbeTests {
    /// Runs `check --every` while `body` runs, which receives the program and requests its metrics by a path.
    private func probing(
        _ relay: RelayProcess,
        _ options: String...,
        body: (RunningProgram, _ metrics: () async throws -> [String]) async throws -> Void
    ) async throws {
        let program = try RunningProgram(
            "hybrid-relay",
            ["check", "--every", "5s", "--metrics", "127.0.0.1:0"] + options + ["ws://127.0.0.1:\(relay.port)"],
            in: relay.folder,
            environment: RelayProcess.environment()
        )
        defer { program.send(SIGKILL) }
        let line = try await program.line { $0.contains("admin listening on ") }
        let port = try #require(RelayProgram.port(in: line))
        try await body(program) {
            try await Conversation.exchange(
                port: port,
                "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            ).split(separator: "\n").map(String.init)
        }
    }

    @Test("signs in as a phone and a client, and shows the times by stage and region")
    func metrics() async throws {
        let node = ["--plaintext", "--cluster", "--region", "2", "--node", "7"]
        try await RelayProcess.run(node) { relay in
            try await probing(relay, "--domain-expires", "2027-05-01") { program, metrics in
                let done = #"hybrid_probe_sign_ins_total{result="ok"} "#
                try await Waiting.until("the first sign-in") {
                    try await metrics().contains { $0.hasPrefix(done) && $0 != done + "0" }
                }
                let lines = try await metrics()
                for stage in ["open", "join", "handshake", "messages", "close", "total"] {
                    let count = "hybrid_probe_seconds_count{region=\"2\",stage=\"\(stage)\"} "
                    #expect(lines.contains { $0.hasPrefix(count) }, "\(stage)")
                    #expect(lines.contains("hybrid_probe_failures_total{stage=\"\(stage)\"} 0") == (stage != "total"))
                }
                #expect(lines.contains("# TYPE hybrid_probe_seconds histogram"))
                #expect(lines.contains("hybrid_probe_domain_expiry_timestamp_seconds 1809129600"))
                #expect(lines.contains(#"hybrid_probe_sign_ins_total{result="failed"} 0"#))
                let memory = "process_resident_memory_bytes "
                let bytes = try #require(
                    lines.first { $0.hasPrefix(memory) }.flatMap { Int($0.dropFirst(memory.count)) }
                )
                // The bound of a release build is 20 MiB; that of a debug build has larger code.
                #expect(bytes < 80 << 20)
                // The code that only the start needed is no longer mapped.
                func kibibytes(_ name: String) throws -> Int {
                    let lines = TestFile.text("/proc/\(program.identifier)/status").split(separator: "\n")
                    let line = try #require(lines.first { $0.hasPrefix("\(name):") })
                    return try #require(line.split { !$0.isNumber }.first.flatMap { Int($0) })
                }
                try await Waiting.until("the code of the start to be released") {
                    try kibibytes("VmHWM") - kibibytes("VmRSS") > 4096
                }
                #expect(try await relay.metric("hybrid_relay_tunnels_total") ?? 0 >= 1)
                program.send(SIGTERM)
                #expect(try await program.ending(within: .seconds(60)).status == 0)
            }
        }
    }

    @Test("counts a failure by its stage, and goes on")
    func failure() async throws {
        try await RelayProcess.run { relay in
            try await probing(relay) { program, metrics in
                let failed = #"hybrid_probe_failures_total{stage="connect"} "#
                let done = #"hybrid_probe_sign_ins_total{result="ok"} "#
                try await Waiting.until("the first sign-in") {
                    try await metrics().contains { $0.hasPrefix(done) && $0 != done + "0" }
                }
                relay.program.send(SIGKILL)
                try await Waiting.until("a failed sign-in", within: .seconds(60)) {
                    try await metrics().contains { $0.hasPrefix(failed) && $0 != failed + "0" }
                }
                _ = try await program.line { $0.contains("a sign-in failed at connect: ") }
                program.send(SIGINT)
                #expect(try await program.ending(within: .seconds(60)).status == 0)
            }
        }
    }

    @Test("connects the client's end elsewhere, and only that one")
    func elsewhere() async throws {
        let node = ["--plaintext", "--cluster", "--region", "0", "--node", "1"]
        try await RelayProcess.run(node) { here in
            try await RelayProcess.run(node) { there in
                let moved = "127.0.0.1:\(here.port):127.0.0.1:\(there.port)"
                try await probing(here, "--client-connect-to", moved) { _, metrics in
                    // The other relay has the same node number, but not the tunnel.
                    let failed = #"hybrid_probe_failures_total{stage="join"} "#
                    try await Waiting.until("a failed join", within: .seconds(60)) {
                        try await metrics().contains { $0.hasPrefix(failed) && $0 != failed + "0" }
                    }
                    #expect(try await here.metric("hybrid_relay_tunnels_total") ?? 0 >= 1)
                    #expect(try await there.metric("hybrid_relay_tunnels_total") == 0)
                    #expect(try await there.metric(#"hybrid_relay_refusals_total{status="404"}"#) ?? 0 >= 1)
                }
            }
        }
    }

    @Test(
        "rejects options that have no meaning",
        arguments: [
            ["--every", "30"], ["--metrics", "9101"], ["--every", "4", "--metrics", "9101"],
            ["--every", "1m", "--metrics", "9101"], ["--domain-expires", "2027-05-01"],
            ["--every", "30", "--metrics", "9101", "--domain-expires", "2027-02-30"],
            ["--every", "30", "--metrics", "somewhere"], ["--every", "301", "--metrics", "9101"],
            ["--client-connect-to", "127.0.0.1:9:127.0.0.1:10"],
        ]
    )
    func mistakes(arguments: [String]) async throws {
        try await Folder.with { folder in
            let ending = try await RelayProcess.command(["check", "ws://127.0.0.1:9"] + arguments, in: folder)
            #expect(ending.status == 64, "\(ending)")
        }
    }
}
