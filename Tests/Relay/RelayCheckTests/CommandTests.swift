// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import TestSupport
import Testing

@Suite("The commands domain and check", .serialized, .timeLimit(.minutes(10)))
struct CommandTests {
    private struct Ending {
        let status: Int32?
        let output: String
        let errors: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    private func run(_ arguments: String..., output: String? = nil) async throws -> Ending {
        try await run(arguments, output: output)
    }

    private func run(_ arguments: [String], output: String?) async throws -> Ending {
        let folder = NSTemporaryDirectory() + "relay-command-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let process = try SpawnedProcess(
            [BuildFolder.program("hybrid-relay")] + arguments,
            environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HYBRID_") },
            output: output ?? folder + "/output",
            errors: folder + "/errors"
        )
        let end = ContinuousClock.now + .seconds(150)
        while process.exitStatus == nil, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(10)) }
        return Ending(
            status: process.exitStatus,
            output: output == nil ? try String(contentsOfFile: folder + "/output", encoding: .utf8) : "",
            errors: try String(contentsOfFile: folder + "/errors", encoding: .utf8)
        )
    }

    @Test("domain prints number and host, given either")
    func domain() async throws {
        for argument in ["266", "cable.wufkweyy3uaxb.com"] {
            let ending = try await run("domain", argument)
            #expect(ending.status == 0)
            #expect(ending.output == "266 cable.wufkweyy3uaxb.com\n")
        }
        let wrong = try await run("domain", "2")
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("not a tunnel domain"))
        #expect(try await run("domain").status == 64)
        #expect(try await run("domain", "65536").errors.contains("256 to 65535"))
        for what in [["266"], ["list"], ["plan", "266"]] {
            let full = try await run(["domain"] + what, output: "/dev/full")
            #expect(full.status == 74 && full.errors.contains("standard output"), "\(full)")
        }
    }

    @Test("domain list prints twenty domains or the requested range, and how to continue")
    func list() async throws {
        let ending = try await run("domain", "list")
        #expect(ending.status == 0)
        #expect(ending.lines.count == 20)
        #expect(ending.lines.first == "256 cable.qz2ekwmnd332c.info")
        #expect(ending.errors.contains("--from 276"))
        let some = try await run("domain", "list", "--from", "0", "--to", "300", "--suffix", "com", "--limit", "0")
        #expect(some.errors == "")
        #expect(some.lines.prefix(2) == ["0 cable.ua5v.com", "1 cable.auth.com"])
        #expect(some.lines.count > 3 && some.lines.allSatisfy { $0.hasSuffix(".com") })
        #expect(some.lines.contains("266 cable.wufkweyy3uaxb.com"))
        #expect(try await run("domain", "list", "--from", "9", "--to", "3").status == 64)
        #expect(try await run("domain", "list", "--suffix", "edu").status == 64)
    }

    @Test("domain plan covers host, registration, records, certificate, service, check and use")
    func plan() async throws {
        let plan = try await run("domain", "plan", "266")
        #expect(plan.status == 0)
        for part in [
            "Register wufkweyy3uaxb.com", "cable.wufkweyy3uaxb.com.  A ", "cable.wufkweyy3uaxb.com.  AAAA ",
            "certbot certonly --standalone -d cable.wufkweyy3uaxb.com", "_acme-challenge.cable.wufkweyy3uaxb.com",
            "hybrid-relay serve --listen", "hybrid-relay check wss://cable.wufkweyy3uaxb.com",
            "hybrid-auth scan --tunnel-domain 266 -",
        ] { #expect(plan.output.contains(part)) }
        #expect(try await run("domain", "plan", "cable.wufkweyy3uaxb.com").output == plan.output)
        let cluster = try await run("domain", "plan", "266", "--regions", "2", "--nodes", "2")
        #expect(cluster.output.contains("hybrid-relay serve --cluster --region REGION --node NODE --plaintext"))
        #expect(!cluster.output.contains("--tls-cert"), "the load balancer has the certificate")
        for line in [
            "# nodes.map of region 0", "# 0 × 1024 + 2 = 2, in hexadecimal 0002", "0002 n0002",
            "# 1 × 1024 + 2 = 1026, in hexadecimal 0402", "0402 n0002", "1 r1",
            "# nodes 0400 to 07ff: their first six bits are 1",
        ] { #expect(cluster.lines.contains(line), "\(line)") }
        let single = try await run("domain", "plan", "266", "--nodes", "3")
        #expect(single.lines.suffix(2) == ["# 0 × 1024 + 3 = 3, in hexadecimal 0003", "0003 n0003"])
        for wrong in ["--nodes 1024", "--nodes 0", "--nodes 1 --regions 65", "--regions 2"] {
            let options = wrong.split(separator: " ").map(String.init)
            #expect(try await run(["domain", "plan", "266"] + options, output: nil).status == 64)
        }
        let assigned = try await run("domain", "plan", "0")
        #expect(assigned.output.contains("assigned to a vendor") && !assigned.output.contains("certbot"))
    }

    @Test("check prints a line for each check and exits with 0")
    func check() async throws {
        try await withRealRelay { port in
            let fine = try await run("check", "--timeout", "30", "ws://127.0.0.1:\(port)")
            #expect(fine.status == 0, "\(fine.output)\(fine.errors)")
            #expect(fine.errors == "")
            #expect(fine.lines.count == 50)
            #expect(fine.lines.first == "not tested  tls-certificate      the address is not secured by TLS")
            #expect(fine.lines.dropLast().last == "ws://127.0.0.1:\(port) at 127.0.0.1:\(port): conforms")
            #expect(fine.lines.last?.hasSuffix("; 40 connections") == true)
        }
    }

    @Test("check prints one JSON object with exactly these keys")
    func json() async throws {
        try await withRealRelay { port in
            let ending = try await run("check", "--json", "--timeout", "30", "ws://127.0.0.1:\(port)")
            #expect(ending.status == 0)
            #expect(ending.lines.count == 1)
            let document = try JSONDecoder().decode(JSONValue.self, from: Data(ending.output.utf8))
            #expect(Set(try document.entries.keys) == ["relay", "address", "verdict", "connections", "checks"])
            #expect(document["relay"] == .text("ws://127.0.0.1:\(port)"))
            #expect(document["address"] == .text("127.0.0.1:\(port)"))
            #expect(document["verdict"] == .text("conforms"))
            #expect(document["connections"] == .number(40))
            let checks = try document.list("checks")
            #expect(checks.count == 48)
            for check in checks {
                #expect(Set(try check.entries.keys) == ["id", "level", "outcome", "expected", "found"])
                #expect(["required", "advisory"].contains(try check.text("level")))
                #expect(["ok", "not tested"].contains(try check.text("outcome")))
            }
        }
    }

    @Test("check exits with 1 if a required check differs")
    func differing() async throws {
        // The relay detects missing TLS only by its request timeout, once for each check.
        try await withRealRelay(headTime: .seconds(5)) { port in
            let override = try await run("check", "--timeout", "30", "--connect-to", "::127.0.0.1:\(port)", "wss://h")
            #expect(override.status == 1)
            #expect(override.output.contains("differs     tls-version"))
        }
        try await FaultyRelay.run(.contactIsGone) { port in
            let gone = try await run("check", "--timeout", "30", "ws://127.0.0.1:\(port)")
            #expect(gone.status == 1)
            let offered = try await run("check", "--contact", "--timeout", "30", "ws://127.0.0.1:\(port)")
            #expect(offered.status == 0, "\(offered.output)")
        }
    }

    @Test("check reads a token from a file, sends it, and does not show it")
    func token() async throws {
        let folder = NSTemporaryDirectory() + "relay-token-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func file(_ text: String) throws -> String {
            let path = folder + "/" + UUID().uuidString
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }
        try await FaultyRelay.run(nil, token: "Very-Secret_1~") { port in
            let url = "ws://127.0.0.1:\(port)"
            let without = try await run("check", "--timeout", "30", url)
            #expect(without.status == 69)
            #expect(without.errors.split(separator: "\n").count == 1)
            #expect(without.errors.contains("--tunnel-token-file"))
            let right = try file("Very-Secret_1~\r\nits owner\n")
            let with = try await run("check", "--timeout", "30", "--tunnel-token-file", right, url)
            #expect(with.status == 0, "\(with.output)")
            #expect(with.output.contains("ok          token"))
            #expect(!(with.output + with.errors).contains("Very-Secret"))
        }
        for (path, status) in [
            (folder + "/none", 66), (folder, 66), (try file(""), 66), (try file("two words\n"), 65),
            (try file("\nsecond\n"), 65), (try file(String(repeating: "x", count: 513)), 65),
        ] {
            let ending = try await run("check", "--tunnel-token-file", path, "ws://127.0.0.1:1")
            #expect(ending.status == Int32(status), "\(ending.errors)")
            #expect(ending.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("check exits with 64, 66, 69, 74 or 75 if it cannot be made")
    func failures() async throws {
        #expect(try await run("check", "ws://example.com").status == 64)
        #expect(try await run("check", "https://example.com").status == 64)
        #expect(try await run("check", "--timeout", "0", "wss://h").status == 64)
        #expect(try await run("check", "--connect-to", "h:1", "wss://h").status == 64)
        #expect(try await run("check", "--cacert", "/nonexistent", "wss://127.0.0.1").status == 66)
        try await FaultyRelay.run(nil) { port in
            let url = "ws://127.0.0.1:\(port)"
            let full = try await run("check", "--json", "--timeout", "30", url, output: "/dev/full")
            #expect(full.status == 74)
        }
        try await Hostility.answers("HTTP/1.1 503 Full\r\n\r\n").serve { port in
            let busy = try await run("check", "--timeout", "30", "ws://127.0.0.1:\(port)")
            #expect(busy.status == 75)
            #expect(busy.errors.split(separator: "\n").count == 1)
        }
        let port = try UnresponsiveSocket(isListening: false)
        let closed = try await run("check", "--timeout", "30", "ws://127.0.0.1:\(port.port)")
        #expect(closed.status == 69)
        #expect(closed.errors.split(separator: "\n").count == 1)
        #expect(closed.errors.contains("refused the connection; check that it is running"))
    }
}
