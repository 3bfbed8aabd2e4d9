// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// `hybrid-lab up`, `run` and `phone`: the table and the scripted phone, with `hybrid-client` for the desktop.
@Suite("The lab")
struct LabTests {
    // MARK: - The table

    @Test("up says what programs need, stays until it is told to go, and leaves nothing behind")
    func upAndDown() async throws {
        try await Table.set { table in
            let environment = try table.ready.value("environment")
            let authority = try environment.text("HYBRID_LAB_CACERT")
            let socket = String(try environment.text("DBUS_SYSTEM_BUS_ADDRESS").dropFirst("unix:path=".count))
            #expect(FileManager.default.fileExists(atPath: authority))
            #expect(FileManager.default.fileExists(atPath: socket))
            let relay = try table.ready.value("relay")
            #expect(try relay.text("host") == Stage.host)
            let chromium = try JSONDecoder().decode(
                [String].self,
                from: Data(try environment.text("HYBRID_LAB_CHROMIUM_ARGS").utf8)
            )
            #expect(
                chromium == [
                    "--host-resolver-rules=MAP \(Stage.host):443 \(try relay.text("address"))",
                    "--ignore-certificate-errors-spki-list=\(try relay.text("spki_sha256"))",
                ]
            )
            table.lab.send(SIGTERM)
            let ending = try await table.lab.ending()
            #expect(ending.status == 0, "\(ending)")
            #expect(ending.output.split(separator: "\n").count == 1)
            #expect(!FileManager.default.fileExists(atPath: authority))
            #expect(!FileManager.default.fileExists(atPath: socket))
            #expect(!FileManager.default.fileExists(atPath: (socket as NSString).deletingLastPathComponent))
        }
    }

    @Test("the pin is that of the relay's certificate, which the authority has signed")
    func pin() async throws {
        try await Table.set { table in
            let relay = try table.ready.value("relay")
            let script = """
                set -e
                openssl s_client -connect "$1" -servername "$2" -CAfile "$3" -verify_return_error -verify_hostname "$2" \
                  </dev/null 2>/dev/null >"$4/session"
                openssl x509 -in "$4/session" -pubkey -noout | openssl pkey -pubin -outform der \
                  | openssl dgst -sha256 -binary | base64
                """
            let openssl = try RunningProgram(
                "/bin/sh",
                [
                    "-c", script, "sh", relay.text("address"), relay.text("host"), relay.text("cacert"), table.folder,
                ],
                in: table.folder,
                environment: ProcessInfo.processInfo.environment
            )
            let ending = try await openssl.ending()
            #expect(ending.status == 0, "\(ending)")
            #expect(ending.output == (try relay.text("spki_sha256")) + "\n")
        }
    }

    @Test("the lines of up set what its JSON says, and are gone with it")
    func environmentFile() async throws {
        let folder = try Table.folder()
        let file = folder + "/lab env"
        let lab = try RunningProgram(
            "hybrid-lab",
            ["up", "--env-file", file],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        )
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
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test("up takes no other file for its lines, and takes none away, but its own")
    func foreignEnvironmentFile() async throws {
        let folder = try Table.folder()
        let file = folder + "/env"
        func up() throws -> RunningProgram {
            try RunningProgram(
                "hybrid-lab",
                ["up", "--env-file", file],
                in: folder,
                environment: ProcessInfo.processInfo.environment
            )
        }
        func put(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: file)) }
        func content() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }
        func expectRefusal() async throws {
            let before = try content()
            let ending = try await up().ending()
            #expect(ending.status == 74, "\(ending)")
            let sentence = "\(file) exists already; choose another name, or remove it"
            #expect(ending.lastLine == "hybrid-lab: \(sentence)", "\(ending)")
            #expect(try content() == before)
        }
        for foreign in ["", "TOKEN=1\n", "export DBUS_SYSTEM_BUS_ADDRESS='tcp:host=localhost'\n"] {
            try put(foreign)
            try await expectRefusal()
        }
        // Left by one that was killed.
        try put("export DBUS_SYSTEM_BUS_ADDRESS='unix:path=\(folder)/gone'\n")
        let lab = try up()
        _ = try await lab.line { $0.contains("ready") }
        #expect(try !content().contains("\(folder)/gone"))
        // One that is in use.
        try await expectRefusal()
        try FileManager.default.removeItem(atPath: file)
        try put("mine\n")
        lab.send(SIGTERM)
        #expect(try await lab.ending().status == 0)
        #expect(try content() == "mine\n")
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test("a demo that nobody gets to read, and a report, are not taken for told")
    func fullOutput() async throws {
        try await Table.set { table in
            let demo = try RunningProgram(
                "hybrid-lab",
                ["demo", "--no-qr"],
                in: table.folder,
                environment: ProcessInfo.processInfo.environment,
                output: "/dev/full"
            )
            let told = try await demo.ending()
            #expect(told.status == 74 && told.lastLine.contains("standard output"), "\(told)")
            let ended = try await table.ceremony(Table.creation("ada"), "approve", phoneOutput: "/dev/full")
            #expect(ended.desktop.status == 0, "\(ended)")
            #expect(ended.phone.status == 74 && ended.phone.lastLine.contains("standard output"), "\(ended)")
        }
    }

    @Test(
        "run ends as its command does",
        arguments: [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)] as [(String, Int32)]
    )
    func commandsEnd(_ command: String, _ status: Int32) async throws {
        let folder = try Table.folder()
        let run = try RunningProgram(
            "hybrid-lab",
            ["run", "--", "/bin/sh", "-c", "echo $HYBRID_LAB_CACERT; \(command)"],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        )
        let ending = try await run.ending()
        #expect(ending.status == status, "\(ending)")
        let authority = ending.output.split(separator: "\n").first.map(String.init) ?? ""
        #expect(authority.hasPrefix("/") && !FileManager.default.fileExists(atPath: authority))
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test("run hands signals on, and says which command it can't run")
    func signalsAndMissingCommands() async throws {
        let folder = try Table.folder()
        let run = try RunningProgram(
            "hybrid-lab",
            ["run", "--", "/bin/sh", "-c", "trap 'exit 9' TERM; echo up >&2; while :; do sleep 0.05; done"],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        )
        _ = try await run.line { $0 == "up" }
        run.send(SIGTERM)
        #expect(try await run.ending().status == 9)
        let missing = try await RunningProgram(
            "hybrid-lab",
            ["run", "--", "no-such-command"],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        ).ending()
        #expect(missing.status == 127)
        #expect(missing.lastLine == "hybrid-lab: no-such-command cannot be run: No such file or directory")
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test(
        "a user whose number has no name, as in a container, has a table, too",
        .enabled(if: geteuid() == 0, "only root can be somebody else")
    )
    func nameless() async throws {
        let folder = try Table.folder()
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
        let nobody = ["--reuid", "54321", "--regid", "54321", "--clear-groups"]
        try #require(getpwuid(54321) == nil)
        // The demo's programs reach the bus as all others do.
        for command in [["demo", "--no-qr"], ["run", "--", "/bin/sh", "-c", "exit 7"]] {
            let lab = try await RunningProgram(
                "/usr/bin/setpriv",
                nobody + [BuildFolder.program("hybrid-lab")] + command,
                in: folder,
                environment: ProcessInfo.processInfo.environment.merging(["TMPDIR": folder]) { $1 }
            ).ending()
            #expect(lab.status == (command[0] == "demo" ? 0 : 7), "\(lab)")
        }
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test("a port of the table's relay that is taken is told in words")
    func takenPort() async throws {
        try await Table.set { table in
            let address = try table.ready.value("relay").text("address")
            let second = try await RunningProgram(
                "hybrid-lab",
                ["run", "--relay-port", String(try #require(address.split(separator: ":").last)), "--", "true"],
                in: table.folder,
                environment: ProcessInfo.processInfo.environment
            ).ending()
            #expect(second.status == 69)
            #expect(
                second.lastLine
                    == "hybrid-lab: the relay cannot listen on \(address): another program does already; end it, or "
                    + "choose another port",
                "\(second)"
            )
        }
    }

    @Test(
        "a text that is no code is refused in words",
        arguments: [
            ("FIDO", "this is no sign-in code: it does not begin with FIDO:/"),
            ("FIDO:/12", "the code is damaged or incomplete"), ("FIDO:/000", "the code breaks the protocol: "),
        ]
    )
    func noCode(_ text: String, _ sentence: String) async throws {
        let folder = try Table.folder()
        let phone = try await RunningProgram(
            "hybrid-lab",
            ["phone", "--tunnel-domain", "266", "--url", text],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        ).ending()
        #expect(phone.status == 65, "\(phone)")
        #expect(phone.lastLine.hasPrefix("hybrid-lab: \(sentence)"), "\(phone)")
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test("a picture without a code is told in words")
    func blankPicture() async throws {
        let folder = try Table.folder()
        let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
        let picture = folder + "/blank.png"
        try #require(Data(base64Encoded: pixel)).write(to: URL(fileURLWithPath: picture))
        let phone = try await RunningProgram(
            "hybrid-lab",
            ["phone", "--tunnel-domain", "266", "--image", picture],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        ).ending()
        #expect(phone.status == 65, "\(phone)")
        #expect(phone.lastLine == "hybrid-lab: \(picture): there is no sign-in code in it; one is needed", "\(phone)")
        try FileManager.default.removeItem(atPath: folder)
    }

    // MARK: - Scripts

    /// What a script must come to: on the phone, and on the desktop.
    struct Case: Sendable, CustomTestStringConvertible {
        let script: String
        /// Which request the desktop makes.
        var creates = false
        /// How the phone says that it ended.
        let ending: String
        var statuses: [Int] = []
        /// The desktop's exit status.
        let desktop: Int32
        /// What its last line says.
        let says: String
        /// How long the desktop waits, of which it waits out nothing unless the phone says nothing.
        var seconds = 60

        var testDescription: String { script }
    }

    static let cases: [Case] = [
        Case(script: "approve", ending: "goodbye", statuses: [0], desktop: 0, says: "done"),
        Case(script: "deny", ending: "goodbye", statuses: [0x27], desktop: 77, says: "declined on the phone"),
        Case(script: "deny", creates: true, ending: "goodbye", statuses: [0x27], desktop: 77, says: "declined"),
        Case(script: "wrong-uv", ending: "goodbye", statuses: [0x27], desktop: 77, says: "declined on the phone"),
        Case(script: "no-credentials", ending: "goodbye", statuses: [0x2E], desktop: 77, says: "has no passkey for"),
        Case(
            script: "excluded",
            creates: true,
            ending: "goodbye",
            statuses: [0x19],
            desktop: 77,
            says: "has a passkey for this account"
        ),
        Case(script: "wait:0.3", ending: "goodbye", statuses: [0], desktop: 0, says: "done"),
        Case(script: "slow:0.1", ending: "goodbye", statuses: [0], desktop: 0, says: "done"),
        Case(script: "pick:2", ending: "goodbye", statuses: [0], desktop: 0, says: "done"),
        Case(script: "pick:3", ending: "goodbye", statuses: [0x27], desktop: 77, says: "declined on the phone"),
        Case(script: "advert-24", ending: "goodbye", statuses: [0], desktop: 0, says: "done"),
        Case(script: "two-phones", ending: "goodbye", statuses: [0], desktop: 0, says: "done"),
        // Nothing of these goes on the air.
        Case(script: "drop:tunnel", ending: "dropped", desktop: 75, says: "no phone was heard nearby", seconds: 15),
        Case(script: "vanish:tunnel", ending: "vanished", desktop: 75, says: "no phone was heard nearby", seconds: 15),
        Case(script: "drop:advert", ending: "dropped", desktop: 75, says: "does not know the tunnel"),
        Case(script: "drop:handshake", ending: "dropped", desktop: 75, says: "went away before it answered"),
        Case(script: "drop:introduction", ending: "dropped", desktop: 75, says: "went away before it answered"),
        Case(script: "drop:request", ending: "dropped", desktop: 75, says: "went away before it answered"),
        Case(script: "drop:answer", ending: "dropped", statuses: [0], desktop: 0, says: "done"),
        Case(script: "vanish:advert", ending: "vanished", desktop: 75, says: "does not know the tunnel"),
        Case(script: "vanish:handshake", ending: "vanished", desktop: 75, says: "it answered, or the relay did"),
        Case(script: "vanish:introduction", ending: "vanished", desktop: 75, says: "it answered, or the relay did"),
        Case(script: "vanish:request", ending: "vanished", desktop: 75, says: "it answered, or the relay did"),
        Case(script: "vanish:answer", ending: "vanished", statuses: [0], desktop: 0, says: "done"),
        Case(script: "hang:introduction", ending: "left", desktop: 75, says: "nobody confirmed", seconds: 20),
        Case(script: "hang:request,wait:1", ending: "left", desktop: 75, says: "nobody confirmed", seconds: 20),
        Case(script: "corrupt:handshake", ending: "left", desktop: 65, says: "somebody who did not scan"),
        Case(script: "corrupt:introduction", ending: "left", desktop: 65, says: "broke the protocol"),
        Case(script: "corrupt:answer", ending: "goodbye", statuses: [0], desktop: 65, says: "broke the protocol"),
    ]

    @Test("a script is played, and the desktop makes of it what it is", arguments: cases)
    func plays(_ expected: Case) async throws {
        try await Table.set { table in
            // Two accounts to pick from.
            for name in ["ada", "eve"] {
                let made = try await table.ceremony(Table.creation(name), "approve")
                #expect(made.desktop.status == 0 && made.phone.status == 0, "\(made)")
            }
            let request = expected.creates ? Table.creation("ida") : Table.assertion
            let ended = try await table.ceremony(request, expected.script, seconds: expected.seconds)
            #expect(ended.phone.status == 0, "\(ended)")
            #expect(ended.desktop.status == expected.desktop, "\(ended)")
            #expect(ended.desktop.lastLine.contains(expected.says), "\(ended)")
            #expect(ended.events.last?["ending"] == .text(expected.ending), "\(ended)")
            #expect(ended.events.compactMap { $0["status"] } == expected.statuses.map(JSONValue.number), "\(ended)")
        }
    }

    @Test("the report says what was asked")
    func report() async throws {
        try await Table.set { table in
            let made = try await table.ceremony(Table.creation("ada"), "approve")
            let asked = try #require(made.events.first { $0["event"] == .text("request") }, "\(made)")
            #expect(asked["command"] == .text("makeCredential"))
            #expect(asked["rp_id"] == .text("shop.example"))
            #expect(asked["user"]?["name"] == .text("ada"))
            #expect(asked["algorithms"] == .list([.number(-7), .number(-257)]))
            #expect(asked["resident_key"] == .boolean(true))
            #expect(asked["user_verification"] == .boolean(true))
            #expect(asked["extensions"] == .list([.text("prf")]))
            #expect(
                made.events.compactMap { $0["event"] }
                    == ["code", "tunnel", "advertising", "connected", "request", "person", "person", "answer", "end"]
                    .map(JSONValue.text)
            )
        }
    }

    @Test(
        "a script that can't be read is refused in words",
        arguments: [
            ("dance", #""dance" is no step"#), ("approve,deny", "one way only"), ("drop", "drop takes a value"),
            ("drop:lunch", "drop takes tunnel, advert"),
            ("corrupt:tunnel", "corrupt takes handshake, introduction, answer"),
            ("wait:-1", "wait takes 0 to 600 seconds"), ("wait:nan", "wait takes"), ("pick:0", "pick takes the number"),
            ("wait:1,wait:2", "wait stands twice"), ("drop:request,hang:request", "one of drop, vanish, hang and"),
            ("drop:request,vanish:request", "one of drop, vanish"), ("vanish", "vanish takes a value"),
            ("deny:1", "deny takes no value"), ("two-phones,drop:request", "two-phones goes with"), (",", "is no step"),
            ("approve,", "is no step"),
        ]
    )
    func mistakes(_ script: String, _ sentence: String) async throws {
        let folder = try Table.folder()
        let phone = try await RunningProgram(
            "hybrid-lab",
            ["phone", "--script=\(script)", "--url", "FIDO:/1"],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        ).ending()
        #expect(phone.status == 64, "\(phone)")
        #expect(phone.errors.contains(sentence), "\(phone)")
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test("without a table the phone says where to get one; with a wrong display, which")
    func noTable() async throws {
        let folder = try Table.folder()
        let bare = ["PATH": "/usr/bin:/bin"]
        let alone = try await RunningProgram("hybrid-lab", ["phone", "-"], in: folder, environment: bare).ending()
        #expect(alone.status == 64)
        #expect(alone.lastLine.contains("hybrid-lab up"), "\(alone)")
        let blind = try await RunningProgram(
            "hybrid-lab",
            ["phone", "--screen", "--display", ":4711", "--tunnel-domain", "266"],
            in: folder,
            environment: bare
        ).ending()
        #expect(blind.status == 69)
        #expect(blind.lastLine == "hybrid-lab: the display :4711 can't be read: no X server answers there")
        let unset = try await RunningProgram(
            "hybrid-lab",
            ["phone", "--screen", "--tunnel-domain", "266"],
            in: folder,
            environment: bare
        ).ending()
        #expect(unset.status == 69)
        #expect(unset.lastLine == "hybrid-lab: DISPLAY is not set; name one with --display, or use xvfb-run")
        try FileManager.default.removeItem(atPath: folder)
    }
}
