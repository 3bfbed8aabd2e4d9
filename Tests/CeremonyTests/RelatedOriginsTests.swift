// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Files below `/.well-known/` on a real HTTPS server: related origins in hybrid-client, links in hybrid-auth.
@Suite("Well-known files", .keepsEvidence, .serialized)
struct RelatedOriginsTests {
    private static let party = "party.example"
    private static let url = "https://party.example/.well-known/webauthn"
    private static let list = #"{"origins":["https://www.shop.example"]}"#
    private static let json = ["--type", "application/json; charset=utf-8"]

    private static func show(
        _ environment: CeremonyEnvironment,
        _ server: CeremonyEnvironment.Server?,
        party: String = party,
        network: [String] = [],
        variables: [String: String] = [:]
    ) throws -> RunningProgram {
        try environment.showQR(
            #"{"publicKey":{"challenge":"AAAA","rpId":"\#(party)"}}"#,
            origin: "https://www.shop.example",
            network: environment.trust + (server.map { connectTo(party, $0.port) } ?? []) + network,
            variables: variables
        )
    }

    private static func refusal(
        _ environment: CeremonyEnvironment,
        _ arguments: [String],
        body: String? = nil,
        network: [String] = []
    ) async throws -> RunningProgram.Ending {
        let server = try await environment.webServer(for: party, arguments + ["--body", body ?? list])
        return try await show(environment, server, network: network).ending()
    }

    @Test("a listed origin gets a code; the request has no cookie and no referrer")
    func permitted() async throws {
        try await CeremonyEnvironment.run { environment in
            let ok = ["--status", "200", "--body", Self.list] + Self.json
            let server = try await environment.webServer(for: Self.party, ok)
            let client = try Self.show(environment, server)
            _ = try await client.line { $0.hasPrefix("FIDO:/") }
            client.send(SIGINT)
            _ = try await client.ending()
            let requests = try server.requests()
            #expect(requests.map(\.line) == ["GET /.well-known/webauthn HTTP/1.1"])
            #expect(requests[0].fields["host"] == Self.party)
            #expect(requests[0].fields["cookie"] == nil && requests[0].fields["referer"] == nil)

            // An origin of the relying party's own domain needs no file.
            let own = try environment.showQR(
                #"{"publicKey":{"challenge":"AAAA","rpId":"shop.example"}}"#,
                origin: "https://www.shop.example"
            )
            _ = try await own.line { $0.hasPrefix("FIDO:/") }
            own.send(SIGINT)
            _ = try await own.ending()
        }
    }

    @Test("an unusable file, or one without the origin, ends the command with one sentence that names it")
    func refused() async throws {
        try await CeremonyEnvironment.run { environment in
            let ok = ["--status", "200"] + Self.json
            for (arguments, body, words) in [
                (ok, #"{"origins":["https://shop.example"]}"#, "does not list it"),
                (["--status", "404"] + Self.json, Self.list, "the status is 404, not 200"),
                (["--status", "204"] + Self.json, "", "the status is 204, not 200"),
                (["--status", "200", "--type", "text/plain"], Self.list, "its type is not application/json"),
                (["--status", "200"], Self.list, "its type is not application/json"),
                (ok, "<html>", "it is not JSON"),
                (ok, "{}", "it has no list of strings named origins"),
                (ok, Self.list + String(repeating: " ", count: 65_536), "too long"),
                (["--status", "302", "--location", "http://party.example/"], "", "target that is not followed"),
                (["--status", "302", "--location", "https://192.0.2.1/"], "", "target that is not followed"),
                (["--status", "302", "--location", "https://other.internal/"], "", "not on the public internet"),
                (["--status", "302", "--location", "/again"], "", "target that is not followed"),
            ] {
                let ending = try await Self.refusal(environment, arguments, body: body)
                ending.expect(65, words)
                #expect(ending.lastLine.contains(Self.url) && ending.lastLine.hasSuffix("(SecurityError)"), "\(ending)")
                #expect(ending.lastLine.count { $0 == ";" } == 1, "one cause and one remedy")
            }
        }
    }

    @Test("five redirections are followed, to public hosts only")
    func redirections() async throws {
        try await CeremonyEnvironment.run { environment in
            let server = try await environment.webServer(
                for: Self.party,
                ["--status", "302", "--location", "https://\(Self.party){path}x"]
            )
            let ending = try await Self.show(environment, server).ending()
            ending.expect(65, Self.url)
            let requests = try server.requests()
            #expect(requests.count == 6)
            #expect(requests.last?.line == "GET /.well-known/webauthnxxxxx HTTP/1.1")

            // The name leads to an address of this machine, and no override permits that.
            let local = try await Self.show(environment, nil, party: "localhost").ending()
            local.expect(65, "https://localhost/.well-known/webauthn")
            #expect(local.lastLine.contains("not on the public internet"))
        }
    }

    @Test("the certificate must be trusted, and be for the relying party")
    func certificates() async throws {
        try await CeremonyEnvironment.run { environment in
            let ok = ["--status", "200", "--body", Self.list] + Self.json
            let other = try await environment.webServer(for: "other.example", ok)
            try await Self.show(environment, other).ending().expect(65, "no trusted TLS connection")
            let foreign = try await environment.webServer(for: Self.party, issuedBy: "foreign", ok)
            try await Self.show(environment, foreign).ending().expect(65, "no trusted TLS connection")
        }
    }

    @Test("a site's link for managing passkeys is printed on request")
    func manage() async throws {
        try await CeremonyEnvironment.run { environment in
            let made = try await environment.runCeremony(try await environment.site("create-options"))
            made.expectSuccess()
            let page = #"{"manage":"https://example.com/account/passkeys","enroll":"https://example.com/new"}"#
            func manage(_ arguments: [String], _ options: [String] = []) async throws -> RunningProgram.Ending {
                let server = try await environment.webServer(for: "example.com", arguments)
                let user = TestUser()
                return try await environment.start(
                    "hybrid-auth",
                    [
                        "passkeys", "show", "example.com", "--manage", "--vault", environment.vault, "--pinentry",
                        TestUser.program(in: environment.folder),
                    ] + environment.trust + connectTo("example.com", server.port) + options,
                    variables: user.variables(in: environment.folder)
                ).ending()
            }
            let ok = ["--status", "200", "--type", "application/json", "--body"]
            let link = try await manage(ok + [page])
            #expect(link.status == 0 && link.output == "https://example.com/account/passkeys\n", "\(link)")
            let json = try await manage(ok + [page], ["--json"])
            #expect(json.output.hasPrefix(#"{"manage":"https://example.com/account/passkeys","enroll":"#), "\(json)")
            for (arguments, words) in [
                (ok + ["{}"], "names no page for managing passkeys"),
                (ok + [#"{"manage":"http://example.com/"}"#], "its member manage is not an https URL"),
                (ok + [#"{"manage":"https://example.com/\u001b[2J"}"#], "its member manage is not an https URL"),
                (["--status", "302", "--location", "/x"], "the status is 302, not 200"),
                (["--status", "200", "--type", "text/html", "--body", page], "its type is not application/json"),
            ] {
                let ending = try await manage(arguments)
                ending.expect(69, words)
                #expect(ending.lastLine.contains("https://example.com/.well-known/passkey-endpoints"), "\(ending)")
            }
        }
    }
}
