// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Settings of `hybrid-client` and `hybrid-auth` in environment variables and files.
@Suite("Settings of client and authenticator", .timeLimit(.minutes(10)))
struct ClientSettingsTests {
    @Test("trusted certificates may be named by a variable or in client.env")
    func certificates() async throws {
        try await CeremonyEnvironment.run { environment in
            let network = connectTo(CeremonyEnvironment.host, environment.relay.port)
            let authority = "HYBRID_CACERT"
            for variables in [[authority: environment.folder + "/ca.pem"], [:]] {
                if variables.isEmpty { try environment.configure("\(authority)=\(environment.folder)/ca.pem\n") }
                let options = try await environment.site("create-options")
                let (client, code) = try await environment.startClient(options, network: network, variables: variables)
                let authenticator = try await environment.startAuthenticator(code).ending()
                CeremonyResult(client: try await client.ending(), authenticator: authenticator).expectSuccess()
            }
        }
    }

    @Test("check-config shows each setting with its source")
    func report() async throws {
        let user = try Configuration(["auth": "HYBRID_TUNNEL_DOMAIN=266\n"])
        let certificates = try user.write("ca.pem", SampleCertificate.pem)
        _ = try user.write("hybrid/client.env", "\nHYBRID_CACERT=\(certificates)\n")
        let client = try await user.check("hybrid-client")
        #expect(client.status == 0 && client.errors == "", "\(client)")
        let rows = client.output.split(separator: "\n").map {
            $0.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        #expect(
            rows == [
                "SETTING VALUE SOURCE",
                "cacert \(certificates) HYBRID_CACERT in \(user.folder)/hybrid/client.env line 2",
                "ble-channel no default",
            ]
        )
        let json = try await user.check("hybrid-client", ["--json"], ["HYBRID_CACERT": certificates])
        let settings = try JSONDecoder().decode([JSONValue].self, from: Data(json.output.utf8))
        #expect(settings.map { $0["name"] } == ["cacert", "ble-channel"])
        #expect(settings[0]["value"] == .text(certificates) && settings[0]["variable"] == "HYBRID_CACERT")
        let auth = try await user.check("hybrid-auth")
        #expect(auth.status == 0 && auth.errors == "", "\(auth)")
        #expect(auth.output.contains("266"), "\(auth)")
        #expect(auth.output.contains("HYBRID_TUNNEL_DOMAIN in \(user.folder)/hybrid/auth.env line 1"), "\(auth)")
        #expect(try await user.check("hybrid-auth", [], ["HYBRID_TUNNEL_DOMAIN": "267"]).output.contains("267"))
    }

    @Test(
        "a setting of one program is no mistake for the others",
        arguments: ["hybrid-client", "hybrid-key", "hybrid-auth", "hybrid-remote"]
    )
    func others(program: String) async throws {
        let user = try Configuration([:])
        func variables(of program: String) async throws -> Set<String> {
            let shown = try await user.check(program, ["--json"])
            let settings = try JSONDecoder().decode([JSONValue].self, from: Data(shown.output.utf8))
            let names = try settings.map { try $0.text("name") }
            return Set(names.map { "HYBRID_" + $0.uppercased().replacing("-", with: "_") })
        }
        var others: Set<String> = []
        for each in ["hybrid-client", "hybrid-key", "hybrid-auth", "hybrid-remote"] {
            others.formUnion(try await variables(of: each))
        }
        others.subtract(try await variables(of: program))
        #expect(others.contains("HYBRID_LOCAL") || others.contains("HYBRID_PUSH"))
        let ending = try await user.check(program, [], Dictionary(uniqueKeysWithValues: others.map { ($0, "some") }))
        #expect(ending.status == 0 && ending.errors == "", "\(others) \(ending)")
    }

    @Test("invalid values are reported in one line that names the variable, or the file and its line")
    func mistakes() async throws {
        let nothing = "can't be read: No such file or directory"
        let cases: [(program: String, file: String, variables: [String: String], says: String)] = [
            ("hybrid-client", "", ["HYBRID_CACERT": ""], "HYBRID_CACERT in the environment: it is empty; "),
            ("hybrid-client", "", ["HYBRID_CACERT": "/none"], "HYBRID_CACERT in the environment: /none \(nothing)"),
            ("hybrid-client", "\n\nHYBRID_CACERT=/none", [:], "HYBRID_CACERT in FILE line 3: /none \(nothing)"),
            (
                "hybrid-client", "", ["HYBRID_CACERT": "/etc/passwd"],
                "HYBRID_CACERT in the environment: /etc/passwd can't"
            ),
            ("hybrid-auth", "", ["HYBRID_CACERT": "/none"], "HYBRID_CACERT in the environment: /none \(nothing)"),
            ("hybrid-auth", "HYBRID_CACERT=/", [:], "HYBRID_CACERT in FILE line 1: / can't be read as certificates"),
            ("hybrid-client", "HYBRID_CACET=/x", [:], "HYBRID_CACET in FILE line 1 is not a setting; HYBRID_CAC"),
            ("hybrid-client", "HYBRID_CACERT=\"", [:], "FILE line 1: "),
            ("hybrid-auth", "HYBRID_TUNNEL_DOMAIN=nowhere", [:], "HYBRID_TUNNEL_DOMAIN in FILE line 1: nowhere is no"),
            ("hybrid-auth", "", ["HYBRID_BLE_CHANNEL": "so"], "HYBRID_BLE_CHANNEL in the environment: \"so\" "),
        ]
        for (program, file, variables, says) in cases {
            let name = program == "hybrid-client" ? "client" : "auth"
            let user = try Configuration([name: file])
            let ending = try await user.check(program, [], variables)
            #expect(ending.status == 78, "\(ending)")
            // Without a whole file, the effective values are unknown.
            let isRead = !says.hasPrefix("FILE")
            #expect(ending.output.hasPrefix("SETTING") == isRead && ending.output.isEmpty != isRead, "\(ending)")
            let path = "\(user.folder)/hybrid/\(name).env"
            let line = "\(program): " + says.replacing("FILE", with: path)
            #expect(ending.lastLine.hasPrefix(line), "\(line)\n\(ending)")
            #expect(ending.errors.split(separator: "\n").count == 1, "\(ending)")
        }
        // A ceremony and the doctor fail in the same way.
        let user = try Configuration(["client": "HYBRID_CACERT=/none"])
        for arguments in [["doctor"], ["show-qr", "--request", "-", "--origin", "https://a.example"]] {
            let ending = try await user.run("hybrid-client", arguments)
            #expect(ending.status == 78 && ending.lastLine.contains("client.env line 1: /none"), "\(ending)")
        }
        // A setting that a flag overrides is not read.
        let flag = try await user.run(
            "hybrid-client",
            ["show-qr", "--request", "/nonexistent", "--origin", "https://a.example", "--cacert", "/etc/hostname"]
        )
        #expect(flag.status == 66 && !flag.errors.contains("CACERT"), "\(flag)")
    }

    @Test("several errors are reported below the settings, the one with which the program would end last")
    func severalMistakes() async throws {
        let user = try Configuration(["auth": "HYBRID_TUNNEL_DOMAN=266\nHYBRID_PUSH=so\nHYBRID_VAULT=/vault\n"])
        let ending = try await user.check("hybrid-auth")
        let path = "\(user.folder)/hybrid/auth.env"
        let lines = [
            "hybrid-auth: HYBRID_PUSH in \(path) line 2: \"so\" is not yes or no",
            "hybrid-auth: HYBRID_TUNNEL_DOMAN in \(path) line 1 is not a setting; HYBRID_TUNNEL_DOMAIN is one",
        ]
        #expect(ending.status == 78 && ending.errors.split(separator: "\n").map(String.init) == lines, "\(ending)")
        let rows = ending.output.split(separator: "\n")
        #expect(rows.contains { $0.hasPrefix("push ") && $0.contains("so ") }, "\(ending)")
        #expect(rows.contains { $0.hasPrefix("vault ") && $0.contains("/vault ") }, "\(ending)")
        let json = try await user.check("hybrid-auth", ["--json"])
        #expect(json.status == 78 && json.output.contains(#""value":"/vault""#), "\(json)")
    }

    @Test("the certificate file is read before a code is shown")
    func certificatesFirst() async throws {
        let user = try Configuration([:])
        let request = try user.write("request", "no request")
        let empty = try user.write("empty.pem", "")
        for file in ["/none", user.folder, empty, request] {
            let ending = try await user.run(
                "hybrid-client",
                ["show-qr", "--request", request, "--origin", "https://a.example", "--cacert", file]
            )
            #expect(
                ending.status == 66 && ending.lastLine.contains("\(file) can't be read as certificates"),
                "\(ending)"
            )
        }
    }

    @Test("a report that cannot be written is a failure", arguments: ["hybrid-client", "hybrid-auth"])
    func unwritten(program: String) async throws {
        let user = try Configuration([:])
        func run(_ redirections: String) async throws -> RunningProgram.Ending {
            let program = BuildFolder.program(program)
            return try await user.run("/bin/sh", ["-c", "exec \(program) check-config \(redirections)"])
        }
        for redirections in [">/dev/full", ">&-"] {
            let ending = try await run(redirections)
            #expect(ending.status == 74 && ending.lastLine.contains("standard output"), "\(redirections): \(ending)")
        }
        #expect(try await run("<&- >&- 2>&-").status == 74)
        let silent = try await run("<&- 2>&-")
        #expect(silent.status == 0 && silent.output.hasPrefix("SETTING"), "\(silent)")
    }

    @Test("with --json, a report of the doctor that cannot be written is also an event")
    func unwrittenDoctor() async throws {
        let user = try Configuration([:])
        let program = BuildFolder.program("hybrid-client")
        let command = "exec \(program) doctor --json --timeout 1 >/dev/full"
        let bus = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(user.folder)/no-bus"]
        let ending = try await user.run("/bin/sh", ["-c", command], bus)
        let event = try JSONDecoder().decode(JSONValue.self, from: Data(ending.lastLine.utf8))
        #expect(ending.status == 74 && event["event"] == "error", "\(ending)")
    }

    /// The configuration of a user, removed with the instance.
    private final class Configuration: Sendable {
        private let testFolder: TestFolder
        var folder: String { testFolder.path }

        /// - Parameter files: The contents of `client.env` and `auth.env`.
        init(_ files: [String: String]) throws {
            testFolder = try TestFolder()
            for (name, text) in files { try write("hybrid/\(name).env", text) }
        }

        deinit { try? testFolder.remove() }

        /// Writes a file and returns its path.
        @discardableResult
        func write(_ name: String, _ text: String) throws -> String { try testFolder.write(text, to: name) }

        func check(
            _ program: String,
            _ arguments: [String] = [],
            _ variables: [String: String] = [:]
        ) async throws -> RunningProgram.Ending {
            try await run(program, ["check-config"] + arguments, variables)
        }

        func run(
            _ program: String,
            _ arguments: [String],
            _ variables: [String: String] = [:]
        ) async throws -> RunningProgram.Ending {
            try await RunningProgram(
                program,
                arguments,
                in: folder,
                environment: ["PATH": "/usr/bin:/bin", "HOME": folder, "XDG_CONFIG_HOME": folder]
                    .merging(variables) { $1 }
            ).ending()
        }
    }
}
