// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession

/// `hybrid-lab phone`: a phone whose person is a script.
struct PhoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phone",
        abstract: "Answer sign-in codes by a script, for tests.",
        discussion: """
            Reads a code, connects to the relay, shows by the virtual radio that it is near, and answers as the script \
            says. Relay and radio are those of hybrid-lab up or hybrid-lab run, which name them in variables.

            A script has steps with commas between them. The person: approve, deny, wrong-uv (types a wrong PIN), \
            no-credentials, excluded; wait:SECONDS before the answer, pick:NUMBER of the account. The phone: slow or \
            slow:SECONDS; drop:STAGE (closes its tunnel), vanish:STAGE (is gone without a word) and hang:STAGE, where \
            STAGE is tunnel, advert, handshake, introduction, request or answer; corrupt:STAGE (sends a wrong bit), \
            where STAGE is handshake, introduction or answer; two-phones; advert-24. Given more than once, each \
            ceremony has its own, and the last one goes for all that follow.
            """
    )

    @Option(
        help: ArgumentHelp("What it does; approve if none is given.", valueName: "steps"),
        transform: { text in
            do throws(PhoneScript.Mistake) {
                return try PhoneScript(parsing: text)
            } catch {
                throw ValidationError("--script \(text): \(error.sentence).")
            }
        }
    )
    var script: [PhoneScript] = []

    @Option(help: ArgumentHelp("The text of the code.", valueName: "FIDO:/…"))
    var url: String?

    @Option(help: ArgumentHelp("A picture of the code, PNG or JPEG.", valueName: "file"))
    var image: String?

    @Flag(help: "Watch the screen of an X server (Xvfb, for instance) until it shows a code.")
    var screen = false

    @Argument(help: "A dash: read the text of the code from standard input.")
    var argument: String?

    @Option(help: ArgumentHelp("The X server, as in $DISPLAY, which names it otherwise.", valueName: "display"))
    var display: String?

    @Option(
        help: ArgumentHelp(
            "How many codes to answer, 0 for as many as come until Ctrl-C; as many as there are scripts otherwise.",
            valueName: "n"
        )
    )
    var ceremonies: Int?

    @Option(
        help: ArgumentHelp("Keep the passkeys in this file, in clear; otherwise they go with it.", valueName: "file")
    )
    var passkeys: String?

    @Option(help: ArgumentHelp("The relay; HYBRID_LAB_TUNNEL_DOMAIN names it otherwise.", valueName: "id|host"))
    var tunnelDomain: String?

    @Option(
        help: ArgumentHelp("Trust these certificates (PEM); HYBRID_LAB_CACERT names them otherwise.", valueName: "file")
    )
    var cacert: String?

    @Option(
        help: ArgumentHelp(
            "Connect elsewhere, as curl does; HYBRID_LAB_CONNECT_TO says so otherwise.",
            valueName: "host:port:host2:port2"
        )
    )
    var connectTo: String?

    @Option(help: ArgumentHelp("The Bluetooth adapter.", valueName: "hciN"))
    var adapter = "hci1"

    @Flag(help: "Tell on standard output what it sees and does, as JSON, one object a line.")
    var json = false

    @Option(help: ArgumentHelp("How long to wait for a code, and then for the desktop, in seconds.", valueName: "s"))
    var timeout = 60

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
        guard argument == nil || argument == "-" else {
            throw ValidationError("Unexpected argument; a dash stands for standard input.")
        }
        guard [url != nil, image != nil, screen, argument != nil].count(where: { $0 }) == 1 else {
            throw ValidationError(
                "Give the code in one way: --screen, --url FIDO:/…, --image FILE, or - for standard input."
            )
        }
        guard display == nil || screen else { throw ValidationError("--display goes with --screen.") }
        guard (0...1_000_000).contains(ceremonies ?? 1) else { throw ValidationError("--ceremonies takes 0 or more.") }
        guard screen || argument != nil || (ceremonies ?? script.count) <= 1 && ceremonies != 0 else {
            throw ValidationError("One text or picture makes one ceremony; watch the --screen for more.")
        }
        guard AdapterName(adapter) != nil else { throw ValidationError("--adapter takes a name such as hci1.") }
    }

    func run() async throws {
        let command = self
        let report = PhoneReport(json: json)
        do {
            let ending = await withTerminationSignals { try await command.answer(report) }
            if ending.signal != nil {
                // Whoever let it run until then has what they wanted.
                guard ceremonies == 0 else { throw CommandFailure("interrupted", status: .interrupted) }
            } else {
                try ending.result.get()
            }
            guard report.isComplete else { throw CommandFailure.outputLost }
        } catch let failure as CommandFailure {
            report.failure(failure)
            throw ExitCode(failure.status.rawValue)
        }
    }

    private func answer(_ report: PhoneReport) async throws {
        let phone = try LabPhone(
            store: MemoryCredentialStore(pin: .lab, file: passkeys.map(PasskeyFile.init(path:))),
            location: location(),
            adapter: AdapterName(adapter),
            timeout: .seconds(timeout),
            report: report
        )
        let codes = CodeReading(source)
        let scripts = script.isEmpty ? [PhoneScript()] : script
        let count = ceremonies ?? scripts.count
        var index = 0
        while count == 0 || index < count {
            let patience: Duration = count == 0 ? .seconds(365 * 24 * 3600) : .seconds(timeout)
            let offer = try await codes.next(patience: patience)
            do {
                try await phone.play(scripts[min(index, scripts.count - 1)], offer)
            } catch let failure as CommandFailure where count == 0 {
                report.failure(failure)
            }
            index += 1
        }
    }

    private var source: CodeSource {
        if let url { return .text(url) }
        if let image { return .image(path: image) }
        return screen ? .screen(display: display) : .standardInput
    }

    private func location() throws -> RelayEndpoint {
        let environment = ProcessEnvironment.variables
        guard let named = tunnelDomain ?? environment["HYBRID_LAB_TUNNEL_DOMAIN"] else {
            throw CommandFailure(
                "no relay is named; run it by hybrid-lab run, or with the lines that hybrid-lab up prints, or give "
                    + "--tunnel-domain",
                code: "no-relay",
                status: .usage
            )
        }
        guard let domain = TunnelDomain(argument: named) else {
            throw CommandFailure("\(named) is no tunnel domain", status: .usage)
        }
        let detour = try (connectTo ?? environment["HYBRID_LAB_CONNECT_TO"]).map { text in
            guard let detour = ConnectTo(text) else {
                throw CommandFailure("\(text) is not HOST:PORT:HOST2:PORT2", status: .usage)
            }
            return detour
        }
        return RelayRoute(
            detours: [detour].compactMap(\.self),
            trustedCertificates: cacert ?? environment["HYBRID_LAB_CACERT"]
        ).location(of: domain)
    }
}
