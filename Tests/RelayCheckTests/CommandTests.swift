// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

@Suite("The commands domain and check", .serialized, .timeLimit(.minutes(3)))
struct CommandTests {
    private struct Ending {
        let status: Int32?
        let output: String
        let errors: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// The program beside the test bundle, where SwiftPM puts both.
    private static let program: String = {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let beside = URL(fileURLWithPath: own).deletingLastPathComponent().path + "/hybrid-relay"
        return FileManager.default.isExecutableFile(atPath: beside)
            ? beside : PackageFolder.path + "/.build/debug/hybrid-relay"
    }()

    private func run(_ arguments: String...) async throws -> Ending {
        let folder = NSTemporaryDirectory() + "relay-command-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let process = try SpawnedProcess(
            [Self.program] + arguments,
            environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HYBRID_") },
            output: folder + "/output",
            errors: folder + "/errors"
        )
        let end = ContinuousClock.now + .seconds(60)
        while process.exitStatus == nil, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(10)) }
        return Ending(
            status: process.exitStatus,
            output: try String(contentsOfFile: folder + "/output", encoding: .utf8),
            errors: try String(contentsOfFile: folder + "/errors", encoding: .utf8)
        )
    }

    @Test("domain prints number and host, for either")
    func domain() async throws {
        for argument in ["266", "cable.wufkweyy3uaxb.com"] {
            let ending = try await run("domain", argument)
            #expect(ending.status == 0)
            #expect(ending.output == "266 cable.wufkweyy3uaxb.com\n")
        }
        let wrong = try await run("domain", "2")
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("no tunnel domain"))
        #expect(try await run("domain").status == 64)
    }

    @Test("domain list prints twenty, or what was asked for, and says how to go on")
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

    @Test("domain plan names host, registration, records, certificate, service, check and use")
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
        let assigned = try await run("domain", "plan", "0")
        #expect(assigned.output.contains("assigned to a vendor") && !assigned.output.contains("certbot"))
    }

    @Test("check ends with 0, 1, 64, 66 or 69")
    func check() async throws {
        try await withRealRelay { port in
            let fine = try await run("check", "ws://127.0.0.1:\(port)")
            #expect(fine.status == 0, "\(fine.output)\(fine.errors)")
            #expect(fine.lines.count == 38)
            #expect(fine.lines.first == "not tested  tls-certificate      no TLS was asked for")
            let json = try await run("check", "--json", "ws://127.0.0.1:\(port)")
            #expect(json.status == 0)
            #expect(json.lines.count == 1)
            let document = try JSONDecoder().decode(JSONValue.self, from: Data(json.output.utf8))
            #expect(document["relay"] == .text("ws://127.0.0.1:\(port)"))
            let detour = try await run("check", "--timeout", "5", "--connect-to", "::127.0.0.1:\(port)", "wss://h")
            #expect(detour.status == 1)
            #expect(detour.output.contains("differs     tls-version"))
        }
        try await FaultyRelay.run(.contactIsGone) { port in
            let gone = try await run("check", "ws://127.0.0.1:\(port)")
            #expect(gone.status == 1)
            let offered = try await run("check", "--contact", "ws://127.0.0.1:\(port)")
            #expect(offered.status == 0)
        }
        #expect(try await run("check", "ws://example.com").status == 64)
        #expect(try await run("check", "https://example.com").status == 64)
        #expect(try await run("check", "--cacert", "/nonexistent", "wss://127.0.0.1").status == 66)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        try await listener.close()
        let nobody = try await run("check", "ws://127.0.0.1:\(port)")
        #expect(nobody.status == 69)
        #expect(nobody.errors.split(separator: "\n").count == 1)
    }
}
