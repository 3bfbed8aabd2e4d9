// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What `hybrid-client` and `hybrid-auth` take from variables and their files, and how they say so.
@Suite("Settings of client and authenticator", .timeLimit(.minutes(10)))
struct ClientSettingsTests {
    @Test("certificates to trust may come from a variable or from client.env, and serve a ceremony")
    func certificates() async throws {
        try await Stage.set { stage in
            let detour = Array(stage.network.drop { $0 != "--connect-to" })
            let authority = stage.folder + "/ca.pem"
            let folder = try Self.folder(stage, "client.env", "HYBRID_CACERT=\(authority)\n")
            for variables in [["HYBRID_CACERT": authority], ["XDG_CONFIG_HOME": folder]] {
                let site = RelyingParty(stage)
                let client = try RunningProgram(
                    "hybrid-client",
                    ["show-qr", "--request", "-", "--origin", RelyingParty.origin, "--print-url"] + detour,
                    in: stage.folder,
                    environment: stage.environment(variables),
                    input: try await site.run("create-options")
                )
                let code = try await client.line { $0.hasPrefix("FIDO:/") }
                let phone = try await stage.startAuthenticator(code).ending()
                let ending = try await client.ending()
                #expect(ending.status == 0 && phone.status == 0, "\(ending) \(phone)")
            }
        }
    }

    @Test("check-config shows what holds and where it comes from")
    func report() async throws {
        let place = try Place(["auth": "HYBRID_TUNNEL_DOMAIN=266\n"])
        let certificates = try place.write("ca.pem", SampleCertificate.pem)
        _ = try place.write("hybrid/client.env", "\nHYBRID_CACERT=\(certificates)\n")
        let client = try await place.check("hybrid-client")
        #expect(client.status == 0 && client.errors == "", "\(client)")
        let rows = client.output.split(separator: "\n").map {
            $0.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        #expect(
            rows == [
                "SETTING VALUE SOURCE",
                "cacert \(certificates) HYBRID_CACERT in \(place.folder)/hybrid/client.env line 2",
                "ble-channel no default",
            ]
        )
        let json = try await place.check("hybrid-client", ["--json"], ["HYBRID_CACERT": certificates])
        let settings = try JSONDecoder().decode([JSONValue].self, from: Data(json.output.utf8))
        #expect(settings.map { $0["name"] } == [.text("cacert"), .text("ble-channel")])
        #expect(settings[0]["value"] == .text(certificates) && settings[0]["variable"] == .text("HYBRID_CACERT"))
        let auth = try await place.check("hybrid-auth")
        #expect(auth.status == 0 && auth.errors == "", "\(auth)")
        #expect(auth.output.contains("266"), "\(auth)")
        #expect(auth.output.contains("HYBRID_TUNNEL_DOMAIN in \(place.folder)/hybrid/auth.env line 1"), "\(auth)")
        #expect(try await place.check("hybrid-auth", [], ["HYBRID_TUNNEL_DOMAIN": "267"]).output.contains("267"))
    }

    @Test("wrong values are told in one line that names the variable, or the file and its line")
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
            ("hybrid-client", "HYBRID_CACET=/x", [:], "HYBRID_CACET in FILE line 1 is no setting; HYBRID_CAC"),
            ("hybrid-client", "HYBRID_CACERT=\"", [:], "FILE line 1: "),
            ("hybrid-auth", "HYBRID_TUNNEL_DOMAIN=nowhere", [:], "HYBRID_TUNNEL_DOMAIN in FILE line 1: nowhere is no"),
            ("hybrid-auth", "", ["HYBRID_BLE_CHANNEL": "so"], "HYBRID_BLE_CHANNEL in the environment: \"so\" "),
        ]
        for (program, file, variables, says) in cases {
            let name = program == "hybrid-client" ? "client" : "auth"
            let place = try Place([name: file])
            let ending = try await place.check(program, [], variables)
            #expect(ending.status == 78 && ending.output == "", "\(ending)")
            let path = "\(place.folder)/hybrid/\(name).env"
            let line = "\(program): " + says.replacing("FILE", with: path)
            #expect(ending.lastLine.hasPrefix(line), "\(line)\n\(ending)")
            #expect(ending.errors.split(separator: "\n").count == 1, "\(ending)")
        }
        // A ceremony and the doctor end the same way.
        let place = try Place(["client": "HYBRID_CACERT=/none"])
        for arguments in [["doctor"], ["show-qr", "--request", "-", "--origin", "https://a.example"]] {
            let ending = try await place.run("hybrid-client", arguments)
            #expect(ending.status == 78 && ending.lastLine.contains("client.env line 1: /none"), "\(ending)")
        }
        // What a flag overrules is not looked at.
        let flag = try await place.run(
            "hybrid-client",
            ["show-qr", "--request", "/nonexistent", "--origin", "https://a.example", "--cacert", "/etc/hostname"]
        )
        #expect(flag.status == 66 && !flag.errors.contains("CACERT"), "\(flag)")
    }

    @Test("what the certificates are in is read before a code is shown")
    func certificatesFirst() async throws {
        let place = try Place([:])
        let request = try place.write("request", "no request")
        let empty = try place.write("empty.pem", "")
        for file in ["/none", place.folder, empty, request] {
            let ending = try await place.run(
                "hybrid-client",
                ["show-qr", "--request", request, "--origin", "https://a.example", "--cacert", file]
            )
            #expect(
                ending.status == 66 && ending.lastLine.contains("\(file) can't be read as certificates"),
                "\(ending)"
            )
        }
    }

    @Test("a report that nobody gets is a failure", arguments: ["hybrid-client", "hybrid-auth"])
    func unwritten(program: String) async throws {
        let place = try Place([:])
        func run(_ redirections: String) async throws -> RunningProgram.Ending {
            let program = BuildFolder.program(program)
            return try await place.run("/bin/sh", ["-c", "exec \(program) check-config \(redirections)"])
        }
        for redirections in [">/dev/full", ">&-"] {
            let ending = try await run(redirections)
            #expect(ending.status == 74 && ending.lastLine.contains("standard output"), "\(redirections): \(ending)")
        }
        #expect(try await run("<&- >&- 2>&-").status == 74)
        let silent = try await run("<&- 2>&-")
        #expect(silent.status == 0 && silent.output.hasPrefix("SETTING"), "\(silent)")
    }

    @Test("the doctor's report that nobody gets is an event, too, if events are asked for")
    func unwrittenDoctor() async throws {
        let place = try Place([:])
        let program = BuildFolder.program("hybrid-client")
        let command = "exec \(program) doctor --json --timeout 1 >/dev/full"
        let bus = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(place.folder)/no-bus"]
        let ending = try await place.run("/bin/sh", ["-c", command], bus)
        let event = try JSONDecoder().decode(JSONValue.self, from: Data(ending.lastLine.utf8))
        #expect(ending.status == 74 && event["event"] == .text("error"), "\(ending)")
    }

    private static func folder(_ stage: Stage, _ name: String, _ text: String) throws -> String {
        let folder = stage.folder + "/settings"
        try FileManager.default.createDirectory(atPath: folder + "/hybrid", withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/hybrid/\(name)"))
        return folder
    }

    /// A user's configuration, gone with this.
    private final class Place: Sendable {
        let folder = FileManager.default.temporaryDirectory.path + "/hybrid-\(UUID().uuidString.prefix(8))"

        /// - Parameter files: what is in `client.env` and `auth.env`.
        init(_ files: [String: String]) throws {
            try FileManager.default.createDirectory(atPath: folder + "/hybrid", withIntermediateDirectories: true)
            for (name, text) in files {
                try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/hybrid/\(name).env"))
            }
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        /// Writes a file and gives its path.
        func write(_ name: String, _ text: String) throws -> String {
            let path = "\(folder)/\(name)"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            return path
        }

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
