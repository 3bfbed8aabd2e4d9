// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `hybrid-relay serve --push-key-file`, with a phone, a client and a push server in Python.
///
/// The messages are verified by http-ece and py-vapid.
@Suite("hybrid-relay and push servers", .timeLimit(.minutes(10)))
struct WebPushTests {
    private static let options = ["--plaintext", "--contact-host", "relay.example"]
    private static let pushOptions =
        options + ["--push-key-file", "FOLDER/keys", "--push-subject", "mailto:operator@example.org"]

    /// Runs a command of openssl that creates a certificate for 127.0.0.1.
    private static func certificate(in folder: String) async throws {
        let openssl = try RunningProgram(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=push server of a test", "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", "\(folder)/push.key", "-out", "\(folder)/push.pem",
            ],
            in: folder
        )
        #expect(try await openssl.ending(within: .seconds(60)).status == 0)
    }

    @Test("wakes phones through a push server, and refuses to send into its own network")
    func pushes() async throws {
        try await Folder.with { folder in
            try await Self.certificate(in: folder)
            let made = try await RelayProcess.command(["new-push-keys", "\(folder)/keys"], in: folder)
            #expect(made.status == 0, "\(made)")
            let again = try await RelayProcess.command(["new-push-keys", "\(folder)/keys"], in: folder)
            #expect(again.status == 64 && again.lastLine.contains("already exists"), "\(again)")
            let judge = try RunningProgram(
                Python.path(),
                [
                    PackageFolder.path + "/Tests/Counterparts/web_push.py", "--host", "relay.example",
                    "--cert", "\(folder)/push.pem", "--key", "\(folder)/push.key", "--relay", "\(folder)/relay.port",
                ],
                in: folder
            )
            let line = try await judge.line { $0.contains("listening on ") }
            let push = try #require(RelayProgram.port(in: line))
            let options =
                Self.pushOptions.map { $0.replacing("FOLDER", with: folder) } + [
                    "--push-allow", "127.0.0.1:\(push)/push/", "--push-cacert", "\(folder)/push.pem",
                    "--source-connections-per-minute", "0", "--source-new-per-minute", "0",
                ]
            try await RelayProcess.run(options) { relay in
                try Folder.write("\(relay.port)\n", to: "\(folder)/relay.port")
                let ending = try await judge.ending(within: .seconds(240))
                try #require(ending.status == 0, "\(ending)")
                try Self.expect(JSONDecoder().decode(JSONValue.self, from: Data(ending.output.utf8)))
                let accepted = try await relay.metric("hybrid_relay_pushes_total{outcome=\"accepted\"}")
                #expect(accepted ?? 0 >= 8)
                #expect(try await relay.metric("hybrid_relay_pushes_total{outcome=\"gone\"}") == 1)
                #expect(try await relay.metric("hybrid_relay_wakeups_total{outcome=\"joined\"}") == 1)
                #expect(try await relay.metric("hybrid_relay_wakeups_total{outcome=\"undelivered\"}") == 2)
            }
        }
    }

    private static func expect(_ results: JSONValue) throws {
        #expect(try results.number("sealed") <= 300)
        #expect(try results.boolean("woken"))
        #expect(try results.boolean("same token"))
        #expect(try !results.boolean("same topic"))
        #expect(try results.number("push server's 410") == 410)
        #expect(try results.number("bad tag") == 404)
        #expect(try results.number("unknown key") == 404)
        #expect(try results.number("push server's 503") == 502)
        #expect(try results.number("push server's 302") == 404)
        #expect(try results.number("rate") == 429)
        let forbidden = try results.value("forbidden").entries
        #expect(forbidden.count >= 12)
        for (kind, reason) in forbidden { #expect(reason == .number(2), "\(kind)") }
        #expect(try results.number("forbidden requests") == 0)
        for path in ["path", "longer segment", "dots", "encoded dots"] { #expect(forbidden[path] != nil) }
        #expect(try results.number("too long") == 3)
        #expect(try results.number("refused by the push server") == 4)
        #expect(try results.number("fifth") == 6)
        #expect(try results.number("pending") == 6)
        #expect(try results.number("malformed") == 1008)
    }

    @Test(
        "rejects settings that contradict each other, and unusable files",
        arguments: [
            (["--push-subject", "mailto:a@example.org"], 64, "--push-key-file"),
            (["--push-key-file", "missing"], 64, "--push-subject"),
            (["--push-key-file", "missing", "--push-subject", "mailto:a@example.org"], 66, "no such file"),
            (["--push-key-file", "keys", "--push-subject", "someone"], 64, "mailto:ADDRESS"),
            (["--push-key-file", "open", "--push-subject", "https://example.org"], 78, "chmod o-rwx"),
            (["--push-key-file", "half", "--push-subject", "https://example.org"], 78, "has no contact key"),
            (["--push-key-file", "broken", "--push-subject", "https://example.org"], 78, "line 2 is malformed"),
            (
                ["--push-key-file", "keys", "--push-subject", "https://example.org", "--push-cacert", "keys"], 64,
                "--push-allow"
            ),
            (
                [
                    "--push-key-file", "keys", "--push-subject", "https://example.org", "--push-allow", "push.lan",
                    "--push-cacert", "keys",
                ], 66, "--push-cacert"
            ),
            (["--push-key-file", "keys", "--push-subject", "https://example.org", "--push-allow", "a b"], 64, "HOST"),
        ] as [([String], Int32, String)]
    )
    func settings(options: [String], status: Int32, text: String) async throws {
        try await Folder.with { folder in
            _ = try await RelayProcess.command(["new-push-keys", "\(folder)/keys"], in: folder)
            let files = ["keys", "missing", "open", "half", "broken"]
            let keys = try String(contentsOfFile: "\(folder)/keys", encoding: .utf8)
            let lines = keys.split(separator: "\n", omittingEmptySubsequences: false)
            for (name, content, mode) in [
                ("open", keys, 0o644), ("half", lines[..<2].joined(separator: "\n"), 0o600),
                ("broken", lines[0] + "\nvapid AAAA\n", 0o600),
            ] {
                try Folder.write(content, to: "\(folder)/\(name)")
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(folder)/\(name)")
            }
            let ending = try await RelayProcess.command(
                ["check-config", "--listen", "127.0.0.1:0"] + Self.options
                    + options.map { files.contains($0) ? "\(folder)/\($0)" : $0 },
                in: folder
            )
            #expect(ending.status == status && ending.lastLine.contains(text), "\(ending)")
        }
    }
}
