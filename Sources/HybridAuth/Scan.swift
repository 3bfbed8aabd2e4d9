// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Authenticator
internal import BLEAdvert
internal import CaBLE
internal import DataChannel
internal import HybridSession
internal import ServiceSupport
internal import Vault

/// `hybrid-auth scan`: answers one QR code.
struct Scan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Answer a sign-in code that another device shows.",
        discussion: """
            Reads the text of the QR code, proves over Bluetooth that this device is near, asks for the PIN and for \
            consent, and signs. The first scan makes the vault.
            """
    )

    @Option(
        help: ArgumentHelp("The text of the code. Other users may see it; prefer standard input.", valueName: "FIDO:/…")
    )
    var url: String?

    @Argument(help: ArgumentHelp("A dash: read the text from standard input.", valueName: "-"))
    var input: String?

    @Option(help: ArgumentHelp("Where passkeys are kept; default $XDG_DATA_HOME/hybrid/vault.", valueName: "dir"))
    var vault: String?

    @Option(help: ArgumentHelp("The relay to use, by number or host name.", valueName: "id|host"))
    var tunnelDomain: String?

    @Option(help: ArgumentHelp("The program that asks for PIN and consent; default pinentry.", valueName: "program"))
    var pinentry: String?

    @Option(help: ArgumentHelp("A file with the relay's token.", valueName: "file"))
    var tunnelTokenFile: String?

    @Option(help: ArgumentHelp("Trust these certificates (PEM) instead of the system's.", valueName: "file"))
    var cacert: String?

    @Option(
        help: ArgumentHelp("Connect elsewhere, as curl does.", valueName: "host:port:host2:port2"),
        transform: { text in
            guard let detour = Detour(text) else { throw ValidationError("--connect-to takes HOST:PORT:HOST2:PORT2.") }
            return detour
        }
    )
    var connectTo: Detour?

    @Option(
        help: ArgumentHelp("The Bluetooth adapter.", valueName: "hciN"),
        transform: { text in
            guard let name = AdapterName(text) else { throw ValidationError("--adapter takes a name such as hci0.") }
            return name
        }
    )
    var adapter: AdapterName?

    @Option(help: ArgumentHelp("How long to wait for the other device, in seconds.", valueName: "s"))
    var timeout: Int = 60

    func validate() throws {
        guard (url == nil) != (input == nil), input == nil || input == "-" else {
            throw ValidationError("Give the code as --url FIDO:/… or - for standard input, and only one of the two.")
        }
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
    }

    func run() async throws {
        if let url { ProcessArguments.wipe(url) }
        let domain = try relayDomain()
        let offer = try url.map(ScanInput.offer) ?? ScanInput.standardInput()
        try check(offer, domain)
        let token = try tunnelTokenFile.map(TokenFile.read)
        let ending = await withTerminationSignals {
            try await serve(offer, domain, token)
        }
        if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
        try ending.result.get()
    }

    private func relayDomain() throws -> TunnelDomain {
        guard let tunnelDomain else {
            throw CommandFailure(
                "no relay is chosen; name yours with --tunnel-domain (a number, or its host name)",
                status: .usage
            )
        }
        guard let domain = TunnelDomain(argument: tunnelDomain) else {
            throw CommandFailure(
                "\(tunnelDomain) is no tunnel domain; hybrid-relay domain shows which number has which host name",
                status: .usage
            )
        }
        return domain
    }

    /// What the code itself says about its device, before any radio or network is used.
    private func check(_ offer: QROffer, _ domain: TunnelDomain) throws {
        if domain.isAssigned, Int(domain.id) >= offer.assignedDomainsKnown {
            throw CommandFailure(
                "the other device does not know the relay \(domain.host); use a tunnel domain of 256 or more",
                status: .usage
            )
        }
        if offer.hint == .presentCredential || offer.hint == .issueCredential {
            throw CommandFailure(
                "the code asks for a digital credential; this program has passkeys only",
                status: .dataError
            )
        }
    }

    private func serve(_ offer: QROffer, _ domain: TunnelDomain, _ token: BearerToken?) async throws {
        let radio: BluetoothRadio
        do {
            radio = try await BluetoothRadio.open(adapter: adapter, for: .advertiser)
        } catch {
            throw CommandFailure(error)
        }
        if radio.isVirtual { StandardError.writeLine("hybrid-auth: VIRTUAL RADIO: no proximity proof") }
        do {
            let user = try PinentryUser(
                program: pinentry,
                relay: domain.host,
                age: offer.age(at: UInt64(max(0, WallClock.secondsSince1970))),
                virtualRadio: radio.isVirtual
            )
            let opened = try await VaultOpening(path: vault, virtualRadio: radio.isVirtual).open(asking: user)
            let authenticator = Authenticator(store: opened, user: user)
            try await serve(offer, domain, token, radio, authenticator, opened)
        } catch {
            await radio.close()
            throw error
        }
        await radio.close()
    }

    private func serve(
        _ offer: QROffer,
        _ domain: TunnelDomain,
        _ token: BearerToken?,
        _ radio: BluetoothRadio,
        _ authenticator: Authenticator,
        _ vault: Vault
    ) async throws {
        var timeouts = AuthenticatorTimeouts()
        timeouts.untilClient = .seconds(timeout)
        let session = AuthenticatorSession(
            radio: radio,
            location: RelayRoute(detour: connectTo, trustedCertificates: cacert).location(of: domain),
            bearerToken: token,
            timeouts: timeouts
        )
        do {
            let end = try await session.serve(offer, info: Authenticator.info, events: ScanProgress.show) {
                await authenticator.answer($0)
            }
            try await ScanOutcome(authenticator, vault).judge(end)
        } catch let failure as AuthenticatorSessionFailure {
            throw CommandFailure(failure)
        }
    }
}

extension CommandFailure {
    init(_ failure: some ExplainedFailure) {
        self.init(failure.sentence, status: ExitStatus(rawValue: failure.kind.rawValue) ?? .software)
    }
}
