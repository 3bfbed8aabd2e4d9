// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCaBLE
import HybridVirtualBlueZ
import TestSupport
import Testing

/// Proxies, relays that send elsewhere, and networks that open TLS, with the real programs.
@Suite("Networks between the programs and a relay", .keepsEvidence, .serialized)
struct NetworkTests {
    private static func code() -> String {
        var generator = SystemRandomNumberGenerator()
        return QROffer(
            clientKey: P256.KeyAgreement.PrivateKey(compactRepresentable: false).publicKey,
            secret: QRSecret(using: &generator),
            created: 1_700_000_000,
            hint: .getAssertion
        ).text
    }

    /// A registration in which both programs have these variables and flags.
    private static func ceremony(
        _ stage: Stage,
        domain: Int = Stage.domain,
        network: [String],
        variables: [String: String] = [:],
        extra: [String] = []
    ) async throws -> Ceremony {
        let client = try RunningProgram(
            "hybrid-client",
            ["show-qr", "--request", "-", "--origin", RelyingParty.origin, "--print-url"] + network,
            in: stage.folder,
            environment: stage.environment(variables),
            input: try await RelyingParty(stage).run("create-options")
        )
        let code = try await client.line { $0.hasPrefix("FIDO:/") }
        let phone = try stage.startAuthenticator(
            code,
            domain: domain,
            network: network,
            extra: extra,
            variables: variables
        )
        return Ceremony(client: try await client.ending(), authenticator: try await phone.ending())
    }

    /// What the phone says where it can't reach its relay.
    private static func refusal(
        _ stage: Stage,
        domain: Int = Stage.domain,
        network: [String]? = nil,
        variables: [String: String] = [:]
    ) async throws -> RunningProgram.Ending {
        try await stage.startAuthenticator(
            code(),
            domain: domain,
            network: network,
            variables: variables
        ).ending()
    }

    @Test("a ceremony goes through a proxy that wants a password, which nobody shows")
    func throughProxy() async throws {
        try await Stage.set { stage in
            let proxy = try await stage.proxy(["--lead-to", "\(stage.relayPort)", "--want", "me:hunter 2:%"])
            let trust = ["--cacert", "\(stage.folder)/ca.pem"]
            let done = try await Self.ceremony(
                stage,
                network: trust,
                variables: Stage.variables(proxy, user: "me:hunter%202:%25@")
            )
            #expect(done.client.status == 0 && done.authenticator.status == 0, "\(done)")
            try await RelyingParty(stage).run("verify-creation", input: done.client.output)
            let requests = try proxy.requests()
            #expect(requests.map(\.line) == Array(repeating: "CONNECT \(Stage.host):443 HTTP/1.1", count: 2))
            for ending in [done.client, done.authenticator] {
                for secret in ["hunter", "bWU6"] { #expect(!ending.errors.contains(secret), "\(ending)") }
            }
        }
    }

    @Test("a proxy that answers slowly, or is asked for a detour's target, is as good; an exception goes without it")
    func ways() async throws {
        try await Stage.set { stage in
            let slow = try await stage.proxy(["--fault", "slow"])
            let done = try await Self.ceremony(stage, network: stage.network, variables: Stage.variables(slow))
            #expect(done.client.status == 0 && done.authenticator.status == 0, "\(done)")
            let asked = Array(repeating: "CONNECT 127.0.0.1:\(stage.relayPort) HTTP/1.1", count: 2)
            #expect(try slow.requests().map(\.line) == asked)

            // Asked for by its name, as curl does, not by where the detour leads.
            let parent = Stage.host.split(separator: ".", maxSplits: 1)[1]
            let direct = Stage.variables(slow, exceptions: "other.example, .\(parent)")
            let again = try await Self.ceremony(stage, network: stage.network, variables: direct)
            #expect(again.client.status == 0 && again.authenticator.status == 0, "\(again)")
            #expect(try slow.requests().count == 2)
        }
    }

    @Test("a proxy's faults are told apart, each by the proxy's name")
    func proxyFaults() async throws {
        try await Stage.set { stage in
            let faults: [(arguments: [String], user: String, status: Int32, words: String)] = [
                (["--want", "a:b"], "", 69, "wants a user and a password"),
                (["--want", "a:b"], "a:c@", 69, "does not take the user and password"),
                (["--fault", "status=403"], "", 69, "does not let through to the relay (HTTP status 403)"),
                (["--fault", "status=502"], "", 69, "HTTP status 502"),
                (["--fault", "hang-up"], "", 69, "hung up before it answered"),
                (["--fault", "garbage"], "", 69, "it does not speak HTTP"),
                (["--fault", "long"], "", 69, "longer than 16 KiB"),
                (["--fault", "eager"], "", 69, "it spoke in the relay's place"),
            ]
            var sentences: Set<String> = []
            for fault in faults {
                let proxy = try await stage.proxy(["--lead-to", "\(stage.relayPort)"] + fault.arguments)
                let ending = try await Self.refusal(stage, variables: Stage.variables(proxy, user: fault.user))
                #expect(ending.status == fault.status, "\(ending)")
                #expect(ending.lastLine.contains("the proxy 127.0.0.1:\(proxy.port) "), "\(ending)")
                #expect(ending.lastLine.contains(fault.words), "\(ending)")
                sentences.insert(ending.lastLine.replacingOccurrences(of: "\(proxy.port)", with: "PORT"))
            }
            #expect(sentences.count == faults.count)

            for (value, status, words) in [
                ("http://127.0.0.1:1", Int32(69), "nothing listens at the proxy 127.0.0.1:1"),
                ("http://proxy.invalid:3128", 69, "the proxy proxy.invalid:3128 has no address"),
                ("socks5://127.0.0.1:1080", 78, "HTTPS_PROXY names a proxy of the kind socks5"),
                ("http://se:cret@:0", 78, "HTTPS_PROXY names no proxy"),
            ] {
                let variables = Stage.briefLookups.merging(["HTTPS_PROXY": value]) { $1 }
                let ending = try await Self.refusal(stage, variables: variables)
                #expect(ending.status == status && ending.lastLine.contains(words), "\(ending)")
                #expect(!ending.errors.contains("cret"))
            }
            try await stage.expectSilence()
        }
    }

    @Test("the programs that look at a relay go by the same proxies")
    func lookingAtRelays() async throws {
        try await Stage.set { stage in
            let trust = ["--cacert", "\(stage.folder)/ca.pem"]
            func check(_ flags: [String] = [], _ variables: [String: String]) async throws -> RunningProgram.Ending {
                try await RunningProgram(
                    "hybrid-relay",
                    ["check", "wss://\(Stage.host)", "--timeout", "30"] + trust + flags,
                    in: stage.folder,
                    environment: stage.environment(variables)
                ).ending()
            }
            func setUp(_ variables: [String: String]) async throws -> RunningProgram.Ending {
                try await RunningProgram(
                    "hybrid-auth",
                    ["setup", "--tunnel-domain", "\(Stage.domain)"] + trust,
                    in: stage.folder,
                    environment: stage.environment(variables)
                ).ending()
            }
            let proxy = try await stage.proxy(["--lead-to", "\(stage.relayPort)", "--want", "me:hunter2"])
            let variables = Stage.variables(proxy, user: "me:hunter2@")
            let looked = try await check([], variables)
            #expect(looked.status == 0 && looked.output.contains("at the proxy 127.0.0.1:\(proxy.port)"), "\(looked)")
            let count = try proxy.requests().count
            #expect(count > 20, "each connection went by the proxy")
            #expect(try Set(proxy.requests().map(\.line)) == ["CONNECT \(Stage.host):443 HTTP/1.1"])
            let done = try await setUp(variables)
            #expect(done.status == 0 && done.errors.contains("the relay works"), "\(done)")
            let afterSetup = try proxy.requests().count
            #expect(afterSetup > count)
            for ending in [looked, done] {
                #expect(!(ending.output + ending.errors).contains("hunter2"), "\(ending)")
            }
            let excepted = Stage.variables(proxy, exceptions: Stage.host)
            let direct = try await check(Stage.detour(Stage.host, stage.relayPort), excepted)
            #expect(direct.status == 0 && direct.output.contains("at 127.0.0.1:\(stage.relayPort)"), "\(direct)")
            #expect(try proxy.requests().count == afterSetup, "an exception goes without it")

            for (arguments, words) in [
                (["--want", "a:b"], "wants a user and a password"), (["--fault", "status=403"], "(HTTP status 403)"),
                (["--fault", "garbage"], "does not speak HTTP"),
                (["--fault", "hang-up"], "hung up before it answered"),
            ] {
                let faulty = try await stage.proxy(arguments)
                let ending = try await check([], Stage.variables(faulty))
                #expect(ending.status == 69, "\(ending)")
                #expect(ending.lastLine.contains("the proxy 127.0.0.1:\(faulty.port) "), "\(ending)")
                #expect(ending.lastLine.contains(words), "\(ending)")
            }
            let silent = try Stage.KeepaliveState()
            let waited = try await check(["--timeout", "1"], ["HTTPS_PROXY": "http://127.0.0.1:\(silent.port)"])
            withExtendedLifetime(silent) {}
            #expect(waited.status == 69 && waited.lastLine.contains("did not answer in time"), "\(waited)")
            for ending in [
                try await check([], ["HTTPS_PROXY": "socks5://hunter2@x"]),
                try await setUp(["HTTPS_PROXY": "socks5://hunter2@x"]),
            ] {
                #expect(ending.status == 78 && ending.lastLine.contains("HTTPS_PROXY names no proxy"), "\(ending)")
                #expect(!ending.errors.contains("hunter2"))
            }
        }
    }

    @Test("a ceremony follows a relay that sends on, hop by hop, and the token stays with the first")
    func redirected() async throws {
        try await Stage.set { stage in
            let (first, second) = (try Stage.host(of: 267), try Stage.host(of: 268))
            let a = try await stage.webServer(for: first, ["--status", "307", "--location", "wss://\(second){path}"])
            let b = try await stage.webServer(
                for: second,
                ["--status", "301", "--location", "https://\(Stage.host):443{path}"]
            )
            let network =
                stage.network + Stage.detour(first, a.port) + Stage.detour(second, b.port)
            let token = "\(stage.folder)/token"
            try Data("hunter2\n".utf8).write(to: URL(fileURLWithPath: token))
            let done = try await Self.ceremony(
                stage,
                domain: 267,
                network: network,
                extra: ["--tunnel-token-file", token]
            )
            #expect(done.client.status == 0 && done.authenticator.status == 0, "\(done)")
            for ending in [done.client, done.authenticator] {
                #expect(ending.errors.contains("\(first) sends to \(second)"), "\(ending)")
                #expect(ending.errors.contains("\(second) sends to \(Stage.host)"), "\(ending)")
            }
            let (atFirst, atSecond) = (try a.requests(), try b.requests())
            #expect(atFirst.map { $0.fields["authorization"] }.contains("Bearer hunter2"))
            #expect(atSecond.count == 2 && atSecond.allSatisfy { $0.fields["authorization"] == nil })
            #expect(atSecond.map(\.line) == atFirst.map(\.line), "the path is kept")
            #expect(atSecond.allSatisfy { $0.fields["host"] == second })
        }
    }

    @Test("redirections that lead nowhere good are not followed, and a circle ends")
    func refusedRedirections() async throws {
        try await Stage.set { stage in
            let circle = try await stage.webServer(
                for: Stage.host,
                ["--status", "302", "--location", "https://\(Stage.host){path}"]
            )
            let trust = ["--cacert", "\(stage.folder)/ca.pem"]
            let ending = try await Self.refusal(stage, network: trust + Stage.detour(Stage.host, circle.port))
            #expect(ending.status == 69 && ending.lastLine.contains("without end"), "\(ending)")
            #expect(try circle.requests().count == 6, "the relay, and five more")

            for (location, words) in [
                ("http://elsewhere.example/", "without TLS"), ("https://elsewhere.example:8443/", "another port"),
                ("https://203.0.113.7/", "an address in place of a name"), ("https://2130706433/", "an address"),
                ("https://user@elsewhere.example/", "no web address"), ("javascript:alert(1)", "without TLS"),
                ("https://localhost/", "own network"), ("https://printer/", "own network"),
                ("https://nas.local/x", "own network"),
            ] {
                let server = try await stage.webServer(for: Stage.host, ["--status", "308", "--location", location])
                // Behind a proxy the relay does not stand in this device's own network.
                let proxy = try await stage.proxy(["--lead-to", "\(server.port)"])
                let ending = try await Self.refusal(stage, network: trust, variables: Stage.variables(proxy))
                #expect(ending.status == 69 && ending.lastLine.contains(words), "\(location): \(ending)")
                #expect(ending.lastLine.contains("\(Stage.host) sends elsewhere"), "\(ending)")
                #expect(try proxy.requests().count == 1, "nobody went there")
            }
            try await stage.expectSilence()
        }
    }

    @Test("a certificate that a network puts in the relay's place is told by its issuer")
    func interception() async throws {
        try await Stage.set { stage in
            let server = try await stage.webServer(for: Stage.host, issuedBy: "Inspection \u{1B}[2J CA")
            let ending = try await Self.refusal(
                stage,
                network: ["--cacert", "\(stage.folder)/ca.pem"] + Stage.detour(Stage.host, server.port)
            )
            #expect(ending.status == 69, "\(ending)")
            #expect(
                ending.lastLine.contains(
                    "the certificate for \(Stage.host) (by --connect-to 127.0.0.1:\(server.port)) is not trusted: it was "
                        + "issued by \"Inspection [2J CA, Corporation\""
                ),
                "\(ending)"
            )
            #expect(try server.requests().isEmpty, "nothing was said")
        }
    }
}
