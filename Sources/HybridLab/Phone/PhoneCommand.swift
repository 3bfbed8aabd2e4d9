// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram

/// The command `hybrid-lab phone`, which runs a phone with a scripted user.
struct PhoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phone",
        abstract: "Answer sign-in codes as a script says, for tests.",
        discussion: """
            Reads a code, connects to the relay, advertises over the virtual radio, and answers as the script says. \
            Relay and radio are those of hybrid-lab up or hybrid-lab run, which set variables for them.

            A script is a list of steps separated by commas. The user: approve, deny, wrong-uv (types a wrong PIN), \
            no-credentials, excluded; wait:SECONDS before the answer, pick:NUMBER of the account. The phone: slow or \
            slow:SECONDS; drop:STAGE (closes its tunnel), vanish:STAGE (cuts the connection) and hang:STAGE (stops \
            responding), where STAGE is tunnel, advert, handshake, introduction, request or answer; corrupt:STAGE \
            (sends a wrong bit), where STAGE is handshake, introduction or answer; two-phones; advert-24; prf:FAULT, where \
            FAULT is absent (the extension is not listed), ignored (no output), disabled (new passkeys without it), \
            first (no second result) or sign-in (no result at a registration). Further steps \
            are link, decline-tap, ignore-tap, error:NAME, reply:FILE and no-wallet, see below. With several scripts, \
            each ceremony uses the next one, and the last one is used for all that follow.

            If the code asks for a digital credential, approve presents one that is made up, deny declines, error:NAME \
            reports an error, reply:FILE sends a file as the reply, and no-wallet is a phone without a wallet.

            With --links, the step link offers the client a link. With --woken, linked clients wake the phone, and \
            decline-tap and ignore-tap are answers to the notification.
            """
    )

    @Option(
        help: ArgumentHelp("The script of a ceremony; the default is approve.", valueName: "steps"),
        transform: PhoneScript.init(parsing:)
    )
    var script: [PhoneScript] = []

    @Option(help: ArgumentHelp("The text of the code.", valueName: "FIDO:/…"))
    var url: String?

    @Option(help: ArgumentHelp("A PNG or JPEG picture of the code.", valueName: "file"))
    var image: String?

    @Flag(help: "Watch the screen of an X server (Xvfb, for instance) until it shows a code.")
    var screen = false

    @Flag(help: "Wait for linked clients instead of a code.")
    var woken = false

    @Option(help: ArgumentHelp("Keep links with clients in this folder.", valueName: "folder"))
    var links: String?

    @Argument(help: "A dash, to read the text of the code from standard input.")
    var argument: String?

    @Option(help: ArgumentHelp("The X server; the default is $DISPLAY.", valueName: "display"))
    var display: String?

    @Option(
        help: ArgumentHelp(
            "The number of codes to answer, or 0 for all until Ctrl-C; the default is the number of scripts.",
            valueName: "n"
        )
    )
    var ceremonies: Int?

    @Option(help: ArgumentHelp("Keep the passkeys in this file, unencrypted, for the next run.", valueName: "file"))
    var passkeys: String?

    @Option(help: ArgumentHelp("The relay; the default is HYBRID_LAB_TUNNEL_DOMAIN.", valueName: "id|host"))
    var tunnelDomain: String?

    @Option(help: ArgumentHelp("Trust these PEM certificates; the default is HYBRID_LAB_CACERT.", valueName: "file"))
    var cacert: String?

    @Option(
        help: ArgumentHelp(
            "Connect elsewhere (like curl --connect-to); default: HYBRID_LAB_CONNECT_TO.",
            valueName: "host:port:host2:port2"
        )
    )
    var connectTo: String?

    @Option(help: ArgumentHelp("The Bluetooth adapter.", valueName: "hciN"))
    var adapter = "hci1"

    @Flag(help: "Report the events on standard output as JSON, one object per line.")
    var json = false

    @Option(help: ArgumentHelp("The time to wait for a code, and then for the client, in seconds.", valueName: "s"))
    var timeout = 60

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
        guard argument == nil || argument == "-" else {
            throw ValidationError("Unexpected argument; a dash stands for standard input.")
        }
        guard [url != nil, image != nil, screen, argument != nil, woken].count(where: { $0 }) == 1 else {
            throw ValidationError(
                "Give the code with exactly one of --screen, --url FIDO:/…, --image FILE, or - for standard input; or wait "
                    + "for linked clients with --woken."
            )
        }
        guard links != nil || !woken && !script.contains(where: \.offersLink) else {
            throw ValidationError("The step link and --woken need --links FOLDER.")
        }
        guard !woken || !script.contains(where: { $0.needsOwnSession || $0.hasTwin || $0.offersLink }) else {
            throw ValidationError("With --woken, a script has answers of the user only.")
        }
        guard display == nil || screen else { throw ValidationError("--display needs --screen.") }
        guard (0...1_000_000).contains(ceremonies ?? 1) else { throw ValidationError("--ceremonies takes 0 or more.") }
        guard screen || woken || argument != nil || (ceremonies ?? script.count) <= 1 && ceremonies != 0 else {
            throw ValidationError("One text or picture is for one ceremony; use --screen for more.")
        }
        guard AdapterName(adapter) != nil else { throw ValidationError("--adapter takes a name such as hci1.") }
    }

    func run() async throws {
        let command = self
        let report = PhoneReport(json: json)
        do {
            let ending = await withTerminationSignals { try await command.answer(report) }
            if ending.signal != nil {
                // If the number of ceremonies is not limited, a signal is the normal end.
                guard ceremonies == 0 else { throw CommandFailure("interrupted", status: .interrupted) }
            } else {
                try ending.result.get()
            }
            guard report.isComplete else { throw CommandFailure.outputNotWritten }
        } catch let failure as CommandFailure {
            report.failure(failure)
            throw ExitCode(failure.status.rawValue)
        }
    }

    private func answer(_ report: PhoneReport) async throws {
        var phone = try LabPhone(
            store: MemoryCredentialStore(pin: .lab, file: passkeys.map(PasskeyFile.init(path:))),
            relay: relay(),
            adapter: AdapterName(adapter),
            timeout: .seconds(self.timeout),
            report: report
        )
        let scripts = script.isEmpty ? [PhoneScript()] : script
        let count = ceremonies ?? scripts.count
        if let links {
            let links = try LabLinks(path: Self.absolute(links))
            phone.links = links
            guard !woken else {
                return try await WokenPhone(phone: phone, links: links, scripts: scripts).run(count: count)
            }
        }
        let codes = CodeReader(source)
        var index = 0
        while count == 0 || index < count {
            let timeout: Duration = count == 0 ? .seconds(365 * 24 * 3600) : .seconds(self.timeout)
            let offer = try await codes.next(timeout: timeout)
            do {
                try await phone.play(scripts[min(index, scripts.count - 1)], offer)
            } catch let failure as CommandFailure where count == 0 {
                report.failure(failure)
            }
            index += 1
        }
    }

    /// Returns an absolute path, relative to the working directory.
    private static func absolute(_ path: String) throws(CommandFailure) -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let folder = getcwd(nil, 0) else {
            throw CommandFailure("the working directory is gone; use an absolute path", status: .noInput)
        }
        defer { free(folder) }
        return "\(String(cString: folder))/\(path)"
    }

    private var source: CodeSource {
        if let url { return .text(url) }
        if let image { return .image(path: image) }
        return screen ? .screen(display: display) : .standardInput
    }

    private func relay() throws -> RelayEndpoint {
        let environment = ProcessEnvironment.variables
        guard let named = tunnelDomain ?? environment["HYBRID_LAB_TUNNEL_DOMAIN"] else {
            let sentence =
                "no relay is set; use hybrid-lab run, or the lines that hybrid-lab up prints, or give --tunnel-domain"
            throw CommandFailure(sentence, code: "no-relay", status: .usage)
        }
        guard let domain = TunnelDomain(argument: named) else {
            throw CommandFailure(
                "\(named) is not a tunnel domain; for a list, run hybrid-relay domain list",
                status: .usage
            )
        }
        let override = try (connectTo ?? environment["HYBRID_LAB_CONNECT_TO"]).map { text in
            guard let override = ConnectTo(text) else {
                throw CommandFailure("\(text) is not HOST:PORT:HOST2:PORT2", status: .usage)
            }
            return override
        }
        return RelayEndpoint(
            domain: domain,
            network: NetworkConfiguration(
                connectTo: [override].compactMap(\.self),
                trustedCertificates: cacert ?? environment["HYBRID_LAB_CACERT"]
            )
        )
    }
}
