// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridCaBLE
import TestSupport
import Testing

/// `hybrid-lab up`, `run` and `phone`: the test environment and the scripted phone, with `hybrid-client`.
@Suite("The lab")
final class LabTests {
    private let testFolder: TestFolder
    private var folder: String { testFolder.path }

    init() throws { testFolder = try TestFolder() }

    deinit { try? testFolder.remove() }

    /// Runs a command of the lab to its end.
    private func run(
        _ arguments: [String],
        environment: [String: String] = SpawnedProcess.environment,
        output: String? = nil
    ) async throws -> RunningProgram.Ending {
        try await RunningProgram("hybrid-lab", arguments, in: folder, environment: environment, output: output).ending()
    }

    // MARK: - The environment

    @Test("up prints the settings that programs need, runs until it is stopped, and removes its files")
    func upAndDown() async throws {
        try await LabProcess.run { lab in
            let environment = try lab.ready.value("environment")
            let authority = try environment.text("HYBRID_LAB_CACERT")
            let socket = String(try environment.text("DBUS_SYSTEM_BUS_ADDRESS").dropFirst("unix:path=".count))
            #expect(FileManager.default.fileExists(atPath: authority))
            #expect(FileManager.default.fileExists(atPath: socket))
            let relay = try lab.ready.value("relay")
            #expect(try relay.text("host") == CeremonyEnvironment.host)
            let chromium = try JSONDecoder().decode(
                [String].self,
                from: Data(try environment.text("HYBRID_LAB_CHROMIUM_ARGS").utf8)
            )
            #expect(
                chromium == [
                    "--host-resolver-rules=MAP \(CeremonyEnvironment.host):443 \(try relay.text("address"))",
                    "--ignore-certificate-errors-spki-list=\(try relay.text("spki_sha256"))",
                ]
            )
            lab.program.send(SIGTERM)
            let ending = try await lab.program.ending()
            #expect(ending.status == 0, "\(ending)")
            #expect(ending.output.split(separator: "\n").count == 1)
            #expect(!FileManager.default.fileExists(atPath: authority))
            #expect(!FileManager.default.fileExists(atPath: socket))
            #expect(!FileManager.default.fileExists(atPath: (socket as NSString).deletingLastPathComponent))
        }
    }

    @Test("the pin matches the relay's certificate, which the authority has signed")
    func pin() async throws {
        try await LabProcess.run { lab in
            let relay = try lab.ready.value("relay")
            let script = """
                set -e
                openssl s_client -connect "$1" -servername "$2" -CAfile "$3" -verify_return_error -verify_hostname "$2" \
                  </dev/null 2>/dev/null >"$4/session"
                openssl x509 -in "$4/session" -pubkey -noout | openssl pkey -pubin -outform der \
                  | openssl dgst -sha256 -binary | base64
                """
            let openssl = try RunningProgram(
                "/bin/sh",
                ["-c", script, "sh", relay.text("address"), relay.text("host"), relay.text("cacert"), lab.folder],
                in: lab.folder
            )
            let ending = try await openssl.ending()
            #expect(ending.status == 0, "\(ending)")
            #expect(ending.output == (try relay.text("spki_sha256")) + "\n")
        }
    }

    @Test("the environment file of up sets the same variables as the JSON, and is removed at the end")
    func environmentFile() async throws {
        let file = folder + "/lab env"
        let lab = try RunningProgram("hybrid-lab", ["up", "--env-file", file], in: folder)
        _ = try await lab.line { $0.contains("ready") }
        let shell = try RunningProgram(
            "/bin/sh",
            [
                "-c",
                #". "$1"; printf '%s\n' "$DBUS_SYSTEM_BUS_ADDRESS" "$HYBRID_LAB_TUNNEL_DOMAIN" "$HYBRID_LAB_CHROMIUM_ARGS""#,
                "sh", file,
            ],
            in: folder,
            environment: ["PATH": "/usr/bin:/bin"]
        )
        let said = try await shell.ending().output.split(separator: "\n")
        #expect(said.first?.hasPrefix("unix:path=/") == true)
        #expect(said.dropFirst().first == "266")
        #expect(said.last?.hasPrefix(#"["--host-resolver-rules=MAP "#) == true)
        lab.send(SIGINT)
        #expect(try await lab.ending().status == 0)
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test("up overwrites and removes no environment file but its own")
    func foreignEnvironmentFile() async throws {
        let file = folder + "/env"
        func up() throws -> RunningProgram {
            try RunningProgram("hybrid-lab", ["up", "--env-file", file], in: folder)
        }
        func put(_ text: String) throws { try TestFile.write(text, to: file) }
        func content() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }
        func expectRefusal() async throws {
            let before = try content()
            let ending = try await up().ending()
            #expect(ending.status == 74, "\(ending)")
            let sentence = "\(file) already exists; choose a different name, or remove it"
            #expect(ending.lastLine == "hybrid-lab: \(sentence)", "\(ending)")
            #expect(try content() == before)
        }
        for foreign in ["", "TOKEN=1\n", "export DBUS_SYSTEM_BUS_ADDRESS='tcp:host=localhost'\n"] {
            try put(foreign)
            try await expectRefusal()
        }
        // The file of a lab that was killed.
        try put("export DBUS_SYSTEM_BUS_ADDRESS='unix:path=\(folder)/gone'\n")
        let lab = try up()
        _ = try await lab.line { $0.contains("ready") }
        #expect(try !content().contains("\(folder)/gone"))
        // The file of a lab that runs.
        try await expectRefusal()
        try FileManager.default.removeItem(atPath: file)
        try put("mine\n")
        lab.send(SIGTERM)
        #expect(try await lab.ending().status == 0)
        #expect(try content() == "mine\n")
    }

    @Test("a demo or a report that cannot be written is a failure")
    func fullOutput() async throws {
        try await LabProcess.run { lab in
            let ending = try await run(["demo", "--no-qr"], output: "/dev/full")
            #expect(ending.status == 74 && ending.lastLine.contains("standard output"), "\(ending)")
            let ended = try await lab.runCeremony(LabProcess.creation("ada"), "approve", phoneOutput: "/dev/full")
            #expect(ended.client.status == 0, "\(ended)")
            #expect(ended.phone.status == 74 && ended.phone.lastLine.contains("standard output"), "\(ended)")
        }
    }

    @Test(
        "run exits like its command",
        arguments: [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)] as [(String, Int32)]
    )
    func commandsEnd(_ command: String, _ status: Int32) async throws {
        let ending = try await run(["run", "--", "/bin/sh", "-c", "echo $HYBRID_LAB_CACERT; \(command)"])
        #expect(ending.status == status, "\(ending)")
        let authority = ending.output.split(separator: "\n").first.map(String.init) ?? ""
        #expect(authority.hasPrefix("/") && !FileManager.default.fileExists(atPath: authority))
    }

    @Test("run forwards signals, and names a command that it cannot run")
    func signalsAndMissingCommands() async throws {
        let program = try RunningProgram(
            "hybrid-lab",
            ["run", "--", "/bin/sh", "-c", "trap 'exit 9' TERM; echo up >&2; while :; do sleep 0.05; done"],
            in: folder
        )
        _ = try await program.line { $0 == "up" }
        program.send(SIGTERM)
        #expect(try await program.ending().status == 9)
        let missing = try await run(["run", "--", "no-such-command"])
        #expect(missing.status == 127)
        #expect(missing.lastLine == "hybrid-lab: no-such-command cannot be run: No such file or directory")
    }

    @Test(
        "a user ID without a name works, as in a container",
        .enabled(if: geteuid() == 0, "only root can change the user")
    )
    func nameless() async throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
        let nobody = ["--reuid", "54321", "--regid", "54321", "--clear-groups"]
        try #require(getpwuid(54321) == nil)
        // The demo starts its own bus and programs.
        let demos = [["demo", "--no-qr"], ["demo", "--no-qr", "--linked"]]
        for command in demos + [["run", "--", "/bin/sh", "-c", "exit 7"]] {
            let lab = try await RunningProgram(
                "/usr/bin/setpriv",
                nobody + [BuildFolder.program("hybrid-lab")] + command,
                in: folder,
                environment: ProcessInfo.processInfo.environment.merging(["TMPDIR": folder]) { $1 }
            ).ending()
            #expect(lab.status == (command[0] == "demo" ? 0 : 7), "\(lab)")
        }
    }

    @Test("a port in use is reported")
    func takenPort() async throws {
        try await LabProcess.run { lab in
            let address = try lab.ready.value("relay").text("address")
            let second = try await run([
                "run", "--relay-port", String(try #require(address.split(separator: ":").last)), "--", "true",
            ])
            #expect(second.status == 69)
            #expect(
                second.lastLine
                    == "hybrid-lab: the relay cannot listen on \(address): another program uses it; stop it, or "
                    + "choose another port",
                "\(second)"
            )
        }
    }

    @Test(
        "a text that is not a code is reported",
        arguments: [
            ("FIDO", "this is not a sign-in code: its text does not begin with FIDO:/"),
            ("FIDO:/12", "the code is damaged or incomplete"),
            ("FIDO:/000", "this program can't use the code ("),
        ]
    )
    func noCode(_ text: String, _ sentence: String) async throws {
        let phone = try await run(["phone", "--tunnel-domain", "266", "--url", text])
        #expect(phone.status == 65, "\(phone)")
        #expect(phone.lastLine.hasPrefix("hybrid-lab: \(sentence)"), "\(phone)")
    }

    @Test("a picture without a code is reported")
    func blankPicture() async throws {
        let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
        let picture = folder + "/blank.png"
        try #require(Data(base64Encoded: pixel)).write(to: URL(fileURLWithPath: picture))
        let phone = try await run(["phone", "--tunnel-domain", "266", "--image", picture])
        #expect(phone.status == 65, "\(phone)")
        #expect(phone.lastLine == "hybrid-lab: \(picture): there is no sign-in code in it; one is needed", "\(phone)")
    }

    // MARK: - Scripts

    /// A script and its expected result on the phone and on the client.
    struct Case: Sendable, CustomTestStringConvertible {
        let script: String
        /// True if the client requests a registration.
        var creates = false
        /// The end of the session as the phone reports it.
        let ending: String
        var statuses: [Int] = []
        /// The exit status of the client.
        let client: Int32
        /// A part of the client's last line.
        let says: String
        /// The timeout of the client, which only matters if the phone is silent.
        var seconds = 60

        var testDescription: String { script }
    }

    static let cases: [Case] = [
        Case(script: "approve", ending: "goodbye", statuses: [0], client: 0, says: "done"),
        Case(script: "deny", ending: "goodbye", statuses: [0x27], client: 77, says: "declined on the phone"),
        Case(script: "deny", creates: true, ending: "goodbye", statuses: [0x27], client: 77, says: "declined"),
        Case(script: "wrong-uv", ending: "goodbye", statuses: [0x27], client: 77, says: "declined on the phone"),
        Case(script: "no-credentials", ending: "goodbye", statuses: [0x2E], client: 77, says: "has no passkey for"),
        Case(
            script: "excluded",
            creates: true,
            ending: "goodbye",
            statuses: [0x19],
            client: 77,
            says: "has a passkey for this account"
        ),
        Case(script: "wait:0.3", ending: "goodbye", statuses: [0], client: 0, says: "done"),
        Case(script: "slow:0.1", ending: "goodbye", statuses: [0], client: 0, says: "done"),
        Case(script: "pick:2", ending: "goodbye", statuses: [0], client: 0, says: "done"),
        Case(script: "pick:3", ending: "goodbye", statuses: [0x27], client: 77, says: "declined on the phone"),
        Case(script: "advert-24", ending: "goodbye", statuses: [0], client: 0, says: "done"),
        Case(script: "two-phones", ending: "goodbye", statuses: [0], client: 0, says: "done"),
        // These end before the advert.
        Case(script: "drop:tunnel", ending: "dropped", client: 75, says: "no phone was found nearby", seconds: 15),
        Case(script: "vanish:tunnel", ending: "vanished", client: 75, says: "no phone was found nearby", seconds: 15),
        Case(script: "drop:advert", ending: "dropped", client: 75, says: "does not know the tunnel"),
        Case(script: "drop:handshake", ending: "dropped", client: 75, says: "or the relay disconnected before"),
        Case(script: "drop:introduction", ending: "dropped", client: 75, says: "or the relay disconnected before"),
        Case(script: "drop:request", ending: "dropped", client: 75, says: "or the relay disconnected before"),
        Case(script: "drop:answer", ending: "dropped", statuses: [0], client: 0, says: "done"),
        Case(script: "vanish:advert", ending: "vanished", client: 75, says: "does not know the tunnel"),
        Case(script: "vanish:handshake", ending: "vanished", client: 75, says: "the phone or the relay disconnected"),
        Case(
            script: "vanish:introduction",
            ending: "vanished",
            client: 75,
            says: "the phone or the relay disconnected"
        ),
        Case(script: "vanish:request", ending: "vanished", client: 75, says: "the phone or the relay disconnected"),
        Case(script: "vanish:answer", ending: "vanished", statuses: [0], client: 0, says: "done"),
        Case(script: "hang:introduction", ending: "left", client: 75, says: "was not confirmed", seconds: 20),
        Case(script: "hang:request,wait:1", ending: "left", client: 75, says: "was not confirmed", seconds: 20),
        Case(script: "corrupt:handshake", ending: "left", client: 65, says: "a device that did not scan"),
        Case(script: "corrupt:introduction", ending: "left", client: 65, says: "violated the protocol"),
        Case(script: "corrupt:answer", ending: "goodbye", statuses: [0], client: 65, says: "violated the protocol"),
    ]

    @Test("a script has the expected result", arguments: cases)
    func script(_ expected: Case) async throws {
        try await LabProcess.run { lab in
            // Two accounts.
            for name in ["ada", "eve"] {
                let made = try await lab.runCeremony(LabProcess.creation(name), "approve")
                #expect(made.client.status == 0 && made.phone.status == 0, "\(made)")
            }
            let request = expected.creates ? LabProcess.creation("ida") : LabProcess.assertion
            let ended = try await lab.runCeremony(request, expected.script, seconds: expected.seconds)
            #expect(ended.phone.status == 0, "\(ended)")
            #expect(ended.client.status == expected.client, "\(ended)")
            #expect(ended.client.lastLine.contains(expected.says), "\(ended)")
            #expect(ended.events.last?["ending"] == .text(expected.ending), "\(ended)")
            #expect(ended.events.compactMap { $0["status"] } == expected.statuses.map(JSONValue.number), "\(ended)")
        }
    }

    @Test("the report contains the request")
    func report() async throws {
        try await LabProcess.run { lab in
            let made = try await lab.runCeremony(LabProcess.creation("ada"), "approve")
            let asked = try #require(made.events.first { $0["event"] == "request" }, "\(made)")
            #expect(asked["command"] == "makeCredential")
            #expect(asked["rp_id"] == "shop.example")
            #expect(asked["user"]?["name"] == "ada")
            #expect(asked["algorithms"] == .list([.number(-7), .number(-257)]))
            #expect(asked["resident_key"] == .boolean(true))
            #expect(asked["user_verification"] == .boolean(true))
            #expect(asked["extensions"] == .list(["prf"]))
            #expect(
                made.events.compactMap { $0["event"] }
                    == ["code", "tunnel", "advertising", "connected", "request", "person", "person", "answer", "end"]
            )
        }
    }

    @Test(
        "an invalid script is reported",
        arguments: [
            ("dance", #""dance" is not a step"#), ("approve,deny", "one way only"), ("drop", "drop takes a value"),
            ("drop:lunch", "drop takes tunnel, advert"),
            ("corrupt:tunnel", "corrupt takes handshake, introduction, answer"),
            ("wait:-1", "wait takes 0 to 600 seconds"), ("wait:nan", "wait takes"), ("pick:0", "pick takes the number"),
            ("wait:1,wait:2", "wait appears twice"), ("drop:request,hang:request", "one of drop, vanish, hang and"),
            ("drop:request,vanish:request", "one of drop, vanish"), ("vanish", "vanish takes a value"),
            ("deny:1", "deny takes no value"), ("two-phones,drop:request", "two-phones can be combined"),
            ("link:1", "link takes no value"), ("link,drop:request", "link can be combined"),
            ("two-phones,link", "two-phones can be combined"), ("link", "need --links FOLDER"),
            ("prf", "prf takes a value, as in prf:absent"), ("prf:later", "prf takes absent, ignored, disabled, first"),
            ("prf:first,prf:sign-in", "prf appears twice"), (",", "is not a step"),
            ("approve,", "is not a step"),
        ]
    )
    func mistakes(_ script: String, _ sentence: String) async throws {
        let phone = try await run(["phone", "--script=\(script)", "--url", "FIDO:/1"])
        #expect(phone.status == 64, "\(phone)")
        #expect(phone.errors.contains(sentence), "\(phone)")
    }

    @Test("without an environment or a display, the phone says how to get one")
    func noEnvironment() async throws {
        let bare = ["PATH": "/usr/bin:/bin"]
        let alone = try await run(["phone", "-"], environment: bare)
        #expect(alone.status == 64)
        #expect(alone.lastLine.contains("hybrid-lab up"), "\(alone)")
        let blind = try await run(
            ["phone", "--screen", "--display", ":4711", "--tunnel-domain", "266"],
            environment: bare
        )
        #expect(blind.status == 69)
        #expect(blind.lastLine == "hybrid-lab: the display :4711 can't be read: no X server answers there")
        let unset = try await run(["phone", "--screen", "--tunnel-domain", "266"], environment: bare)
        #expect(unset.status == 69)
        #expect(unset.lastLine == "hybrid-lab: DISPLAY is not set; use --display or xvfb-run")
        let orphan = try await run(
            ["phone", "--tunnel-domain", "266", "--url", QROffer.random().text],
            environment: bare.merging(["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/none"]) { $1 }
        )
        #expect(orphan.status == 69)
        #expect(orphan.lastLine.contains("virtual radio does not respond; start hybrid-lab up again"), "\(orphan)")
    }
}
