// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import TestSupport
import Testing

/// Proxies, redirects and networks that intercept TLS.
@Suite("Networks between the programs and a relay", .keepsEvidence, .serialized)
struct NetworkTests {
    /// Runs a registration in which both programs have the same variables and flags.
    private static func ceremony(
        _ environment: CeremonyEnvironment,
        domain: Int = CeremonyEnvironment.domain,
        network: [String],
        variables: [String: String] = [:],
        extra: [String] = []
    ) async throws -> CeremonyResult {
        let options = try await environment.site("create-options")
        let (client, code) = try await environment.startClient(options, network: network, variables: variables)
        let authenticator = try environment.startAuthenticator(
            code,
            domain: domain,
            network: network,
            extra: extra,
            variables: variables
        )
        return CeremonyResult(client: try await client.ending(), authenticator: try await authenticator.ending())
    }

    /// Returns the result of an authenticator that cannot reach its relay.
    private static func failure(
        _ environment: CeremonyEnvironment,
        domain: Int = CeremonyEnvironment.domain,
        network: [String]? = nil,
        variables: [String: String] = [:]
    ) async throws -> RunningProgram.Ending {
        try await environment.startAuthenticator(
            QROffer.random().text,
            domain: domain,
            network: network,
            variables: variables
        ).ending()
    }

    @Test("a ceremony uses a proxy with a password, which is not printed")
    func throughProxy() async throws {
        try await CeremonyEnvironment.run { environment in
            let proxy = try await environment.proxy([
                "--lead-to", "\(environment.relay.port)", "--want", "me:hunter 2:%",
            ])
            let done = try await Self.ceremony(
                environment,
                network: environment.trust,
                variables: CeremonyEnvironment.variables(proxy, user: "me:hunter%202:%25@")
            )
            done.expectSuccess()
            try await environment.site("verify-creation", input: done.client.output)
            let requests = try proxy.requests()
            #expect(
                requests.map(\.line) == Array(repeating: "CONNECT \(CeremonyEnvironment.host):443 HTTP/1.1", count: 2)
            )
            for ending in [done.client, done.authenticator] {
                for secret in ["hunter", "bWU6"] { #expect(!ending.errors.contains(secret), "\(ending)") }
            }
        }
    }

    @Test("slow proxies and the target of --connect-to work; exceptions bypass the proxy")
    func exceptions() async throws {
        try await CeremonyEnvironment.run { environment in
            let slow = try await environment.proxy(["--fault", "slow"])
            let done = try await Self.ceremony(
                environment,
                network: environment.network,
                variables: CeremonyEnvironment.variables(slow)
            )
            done.expectSuccess()
            let asked = Array(repeating: "CONNECT 127.0.0.1:\(environment.relay.port) HTTP/1.1", count: 2)
            #expect(try slow.requests().map(\.line) == asked)

            // Matched by the relay's name, as curl does, not by the target of --connect-to.
            let parent = CeremonyEnvironment.host.split(separator: ".", maxSplits: 1)[1]
            let direct = CeremonyEnvironment.variables(slow, exceptions: "other.example, .\(parent)")
            let again = try await Self.ceremony(environment, network: environment.network, variables: direct)
            again.expectSuccess()
            #expect(try slow.requests().count == 2)
        }
    }

    @Test("each fault of a proxy has a sentence of its own that names the proxy")
    func proxyFaults() async throws {
        try await CeremonyEnvironment.run { environment in
            let faults: [(arguments: [String], user: String, status: Int32, words: String)] = [
                (["--want", "a:b"], "", 69, "requires a user name and a password"),
                (["--want", "a:b"], "a:c@", 69, "rejected the user and password"),
                (["--fault", "status=403"], "", 69, "does not allow the connection to the relay (HTTP status 403)"),
                (["--fault", "status=502"], "", 69, "HTTP status 502"),
                (["--fault", "hang-up"], "", 69, "closed the connection before it answered"),
                (["--fault", "garbage"], "", 69, "it does not speak HTTP"),
                (["--fault", "long"], "", 69, "longer than 16 KiB"),
                (["--fault", "eager"], "", 69, "it sent data in the relay's place"),
            ]
            var sentences: Set<String> = []
            for fault in faults {
                let proxy = try await environment.proxy(["--lead-to", "\(environment.relay.port)"] + fault.arguments)
                let ending = try await Self.failure(
                    environment,
                    variables: CeremonyEnvironment.variables(proxy, user: fault.user)
                )
                #expect(ending.status == fault.status, "\(ending)")
                #expect(ending.lastLine.contains("the proxy 127.0.0.1:\(proxy.port) "), "\(ending)")
                #expect(ending.lastLine.contains(fault.words), "\(ending)")
                sentences.insert(ending.lastLine.replacingOccurrences(of: "\(proxy.port)", with: "PORT"))
            }
            #expect(sentences.count == faults.count)

            for (value, status, words) in [
                ("http://127.0.0.1:1", Int32(69), "the proxy 127.0.0.1:1 refused the connection"),
                ("http://proxy.invalid:3128", 69, "the proxy proxy.invalid:3128 has no address"),
                ("socks5://127.0.0.1:1080", 78, "HTTPS_PROXY names a proxy of the kind socks5"),
                ("http://se:cret@:0", 78, "HTTPS_PROXY does not name a proxy"),
            ] {
                let variables = CeremonyEnvironment.briefLookups.merging(["HTTPS_PROXY": value]) { $1 }
                let ending = try await Self.failure(environment, variables: variables)
                #expect(ending.status == status && ending.lastLine.contains(words), "\(ending)")
                #expect(!ending.errors.contains("cret"))
            }
            try await environment.untilNoAdverts()
        }
    }

    @Test("relay check and setup use the same proxies")
    func checksOfRelays() async throws {
        try await CeremonyEnvironment.run { environment in
            func check(_ flags: [String] = [], _ variables: [String: String]) async throws -> RunningProgram.Ending {
                try await environment.start(
                    "hybrid-relay",
                    ["check", "wss://\(CeremonyEnvironment.host)", "--timeout", "30"] + environment.trust + flags,
                    variables: variables
                ).ending()
            }
            func setUp(_ variables: [String: String]) async throws -> RunningProgram.Ending {
                try await environment.start(
                    "hybrid-auth",
                    ["setup", "--tunnel-domain", "\(CeremonyEnvironment.domain)"] + environment.trust,
                    variables: variables
                ).ending()
            }
            let proxy = try await environment.proxy(["--lead-to", "\(environment.relay.port)", "--want", "me:hunter2"])
            let variables = CeremonyEnvironment.variables(proxy, user: "me:hunter2@")
            let checked = try await check([], variables)
            #expect(
                checked.status == 0 && checked.output.contains("at the proxy 127.0.0.1:\(proxy.port)"),
                "\(checked)"
            )
            let count = try proxy.requests().count
            #expect(count > 20, "each connection uses the proxy")
            #expect(try Set(proxy.requests().map(\.line)) == ["CONNECT \(CeremonyEnvironment.host):443 HTTP/1.1"])
            let done = try await setUp(variables)
            #expect(done.status == 0 && done.errors.contains("the relay works"), "\(done)")
            let afterSetup = try proxy.requests().count
            #expect(afterSetup > count)
            for ending in [checked, done] {
                #expect(!(ending.output + ending.errors).contains("hunter2"), "\(ending)")
            }
            let excepted = CeremonyEnvironment.variables(proxy, exceptions: CeremonyEnvironment.host)
            let direct = try await check(connectTo(CeremonyEnvironment.host, environment.relay.port), excepted)
            #expect(direct.status == 0 && direct.output.contains("at 127.0.0.1:\(environment.relay.port)"), "\(direct)")
            #expect(try proxy.requests().count == afterSetup, "an exception bypasses the proxy")

            for (arguments, words) in [
                (["--want", "a:b"], "requires a user name and a password"),
                (["--fault", "status=403"], "(HTTP status 403)"),
                (["--fault", "garbage"], "does not speak HTTP"),
                (["--fault", "hang-up"], "closed the connection before it answered"),
            ] {
                let faulty = try await environment.proxy(arguments)
                let ending = try await check([], CeremonyEnvironment.variables(faulty))
                #expect(ending.status == 69, "\(ending)")
                #expect(ending.lastLine.contains("the proxy 127.0.0.1:\(faulty.port) "), "\(ending)")
                #expect(ending.lastLine.contains(words), "\(ending)")
            }
            let silent = try UnresponsiveSocket()
            let waited = try await check(["--timeout", "1"], ["HTTPS_PROXY": "http://127.0.0.1:\(silent.port)"])
            withExtendedLifetime(silent) {}
            #expect(waited.status == 69 && waited.lastLine.contains("did not answer in time"), "\(waited)")
            for ending in [
                try await check([], ["HTTPS_PROXY": "socks5://hunter2@x"]),
                try await setUp(["HTTPS_PROXY": "socks5://hunter2@x"]),
            ] {
                #expect(
                    ending.status == 78 && ending.lastLine.contains("HTTPS_PROXY names a proxy of the kind socks5"),
                    "\(ending)"
                )
                #expect(!ending.errors.contains("hunter2"))
            }
        }
    }

    @Test("a ceremony follows redirects, and only the first relay receives the token")
    func redirected() async throws {
        try await CeremonyEnvironment.run { environment in
            let (first, second) = (try CeremonyEnvironment.host(of: 267), try CeremonyEnvironment.host(of: 268))
            let a = try await environment.webServer(
                for: first,
                ["--status", "307", "--location", "wss://\(second){path}"]
            )
            let b = try await environment.webServer(
                for: second,
                ["--status", "301", "--location", "https://\(CeremonyEnvironment.host):443{path}"]
            )
            let network =
                environment.network + connectTo(first, a.port)
                + connectTo(second, b.port)
            let token = "\(environment.folder)/token"
            try TestFile.write("hunter2\n", to: token)
            let done = try await Self.ceremony(
                environment,
                domain: 267,
                network: network,
                extra: ["--tunnel-token-file", token]
            )
            done.expectSuccess()
            for ending in [done.client, done.authenticator] {
                #expect(ending.errors.contains("\(first) redirects to \(second)"), "\(ending)")
                #expect(ending.errors.contains("\(second) redirects to \(CeremonyEnvironment.host)"), "\(ending)")
            }
            let (atFirst, atSecond) = (try a.requests(), try b.requests())
            #expect(atFirst.map { $0.fields["authorization"] }.contains("Bearer hunter2"))
            #expect(atSecond.count == 2 && atSecond.allSatisfy { $0.fields["authorization"] == nil })
            #expect(atSecond.map(\.line) == atFirst.map(\.line), "the path is kept")
            #expect(atSecond.allSatisfy { $0.fields["host"] == second })
        }
    }

    @Test("unsafe redirects are not followed, and a redirect loop ends")
    func rejectedRedirects() async throws {
        try await CeremonyEnvironment.run { environment in
            let circle = try await environment.webServer(
                for: CeremonyEnvironment.host,
                ["--status", "302", "--location", "https://\(CeremonyEnvironment.host){path}"]
            )
            let ending = try await Self.failure(
                environment,
                network: environment.trust + connectTo(CeremonyEnvironment.host, circle.port)
            )
            #expect(ending.status == 69 && ending.lastLine.contains("too many redirections"), "\(ending)")
            #expect(try circle.requests().count == 6, "the relay, and five more")
            let between = try await environment.proxy(["--lead-to", "\(circle.port)"])
            let again = try await Self.failure(
                environment,
                network: environment.trust,
                variables: CeremonyEnvironment.variables(between)
            )
            #expect(again.status == 69 && again.lastLine.contains("too many redirections"), "\(again)")
            #expect(try between.requests().count == 6, "through a proxy, the relay may redirect to itself")

            for (location, words) in [
                ("http://elsewhere.example/", "without TLS"),
                ("https://elsewhere.example:8443/", "a port other than 443"),
                ("https://203.0.113.7/", "an IP address instead of a name"), ("https://2130706433/", "an IP address"),
                ("https://user@elsewhere.example/", "an invalid URL"), ("javascript:alert(1)", "without TLS"),
                ("https://localhost/", "own network"), ("https://printer/", "own network"),
                ("https://nas.local/x", "own network"),
                ("https://elsewhere.example/", "another host through the proxy"),
            ] {
                let server = try await environment.webServer(
                    for: CeremonyEnvironment.host,
                    ["--status", "308", "--location", location]
                )
                // Behind a proxy, the relay is not in the local network.
                let proxy = try await environment.proxy(["--lead-to", "\(server.port)"])
                let ending = try await Self.failure(
                    environment,
                    network: environment.trust,
                    variables: CeremonyEnvironment.variables(proxy)
                )
                #expect(ending.status == 69 && ending.lastLine.contains(words), "\(location): \(ending)")
                #expect(ending.lastLine.contains("\(CeremonyEnvironment.host) redirects"), "\(ending)")
                #expect(try proxy.requests().count == 1, "the redirect was not followed")
            }
            try await environment.untilNoAdverts()
        }
    }

    @Test("a certificate for the relay's address is accepted by no program, and no token is sent")
    func addressInCertificate() async throws {
        try await CeremonyEnvironment.run { environment in
            let host = CeremonyEnvironment.host
            let token = "\(environment.folder)/token"
            try TestFile.write("hunter2\n", to: token)
            let server = try await environment.webServer(for: host, names: "DNS:other.example,IP:127.0.0.1")
            let proxy = try await environment.proxy(["--lead-to", "\(server.port)"])
            let vendors = DoctorTests.vendors.flatMap { connectTo($0, 1) }
            let programs: [(arguments: [String], status: Int32, words: String)] = [
                (
                    ["hybrid-relay", "check", "wss://\(host)", "--tunnel-token-file", token], 1,
                    "the certificate is for another host"
                ),
                (
                    [
                        "hybrid-auth", "setup", "--tunnel-domain", "\(CeremonyEnvironment.domain)",
                        "--tunnel-token-file", token,
                    ], 69, "(tls-certificate"
                ),
                (
                    ["hybrid-client", "doctor", "--relay", host, "--timeout", "60"] + vendors, 69,
                    "the relay's certificate is not for \(host)"
                ),
            ]
            for (network, variables) in [
                (environment.trust + connectTo(host, server.port), [:]),
                (environment.trust, CeremonyEnvironment.variables(proxy)),
            ] {
                for program in programs {
                    let ending = try await environment.start(
                        program.arguments[0],
                        program.arguments.dropFirst() + network,
                        variables: variables
                    ).ending()
                    #expect(ending.status == program.status, "\(ending)")
                    #expect((ending.output + ending.errors).contains(program.words), "\(ending)")
                }
                let scan = try await environment.startAuthenticator(
                    QROffer.random().text,
                    network: network,
                    extra: ["--tunnel-token-file", token],
                    variables: variables
                ).ending()
                #expect(scan.status == 69, "\(scan)")
                #expect(scan.lastLine.contains("the relay's certificate is not for \(host)"), "\(scan)")
            }
            // A host that a relay redirects to needs its own name, too.
            let first = try CeremonyEnvironment.host(of: 267)
            let redirecting = try await environment.webServer(
                for: first,
                ["--status", "307", "--location", "https://\(host)/"]
            )
            let redirected = try await Self.failure(
                environment,
                domain: 267,
                network: environment.trust + connectTo(first, redirecting.port) + connectTo(host, server.port)
            )
            #expect(redirected.status == 69, "\(redirected)")
            #expect(redirected.lastLine.contains("the relay's certificate is not for \(host)"), "\(redirected)")
            #expect(try redirecting.requests().count == 1)
            #expect(try server.requests().isEmpty, "no request was sent")
            try await environment.untilNoAdverts()
        }
    }

    @Test("an intercepting network is reported with the issuer of its certificate")
    func interception() async throws {
        try await CeremonyEnvironment.run { environment in
            let server = try await environment.webServer(
                for: CeremonyEnvironment.host,
                issuedBy: "Inspection \u{1B}[2J CA"
            )
            let ending = try await Self.failure(
                environment,
                network: environment.trust
                    + connectTo(CeremonyEnvironment.host, server.port)
            )
            #expect(ending.status == 69, "\(ending)")
            #expect(
                ending.lastLine.contains(
                    "the certificate for \(CeremonyEnvironment.host) (by --connect-to 127.0.0.1:\(server.port)) is not trusted: it was "
                        + "issued by \"Inspection [2J CA, Corporation\""
                ),
                "\(ending)"
            )
            #expect(try server.requests().isEmpty, "no request was sent")
        }
    }
}
