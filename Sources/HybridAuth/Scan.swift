// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCeremonySupport
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession
internal import HybridVault

/// `hybrid-auth scan`: answers one QR code.
struct Scan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Answer a sign-in code that another device shows.",
        discussion: """
            Reads the text of the QR code, proves over Bluetooth that this device is near, asks for the PIN and for \
            consent, and signs. The first scan makes the vault.
            """
    )

    @OptionGroup(title: "Where the code is")
    var inputs: ScanInputOptions

    @Option(help: help(AuthSettings.vault, "dir"))
    var vault: String?

    @Option(help: help(AuthSettings.tunnelDomain, "id|host"))
    var tunnelDomain: String?

    @Option(help: help(AuthSettings.pinentry, "program"))
    var pinentry: String?

    @Option(help: help(AuthSettings.tunnelTokenFile, "file"))
    var tunnelTokenFile: String?

    @Option(help: help(AuthSettings.cacert, "file"))
    var cacert: String?

    @OptionGroup
    var road: NetworkOptions

    @Flag(inversion: .prefixedNo, help: ArgumentHelp(stringLiteral: AuthSettings.bleChannel.help))
    var bleChannel: Bool?

    @Flag(help: "Tell what happens as JSON, one object a line, on standard error.")
    var json = false

    @Option(help: ArgumentHelp("How long to wait for the other device, in seconds.", valueName: "s"))
    var timeout: Int = 60

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
    }

    mutating func run() async throws {
        let progress = ScanProgress(json: json)
        let ending: CommandFailure
        do {
            try await answer(progress)
            progress.report.end(ProgressState("done", "done"))
            return
        } catch let known as AlreadyShownFailure {
            ending = known.failure
        } catch let failure as CommandFailure {
            ending = failure
            // Nobody sees standard error then; who interrupted knows.
            if inputs.isLink, failure.status != .interrupted {
                await (try? LinkConfirmation(program: pinentry))?.show(failure)
            }
        }
        progress.report.end(ending)
        throw ExitCode(ending.status.rawValue)
    }

    /// Takes the settings from where they are.
    private mutating func answer(_ progress: ScanProgress) async throws {
        let settings = try AuthSettings.resolve(flags)
        pinentry = try settings.value(AuthSettings.pinentry)
        vault = try settings.value(AuthSettings.vault)
        cacert = try settings.value(AuthSettings.cacert)
        bleChannel = try settings.value(AuthSettings.bleChannel)
        let link = try inputs.isLink ? LinkConfirmation(program: pinentry) : nil
        let domain = try relayDomain(settings)
        tunnelTokenFile = try AuthSettings.tokenFile(for: domain, settings)
        try settings.checkCertificates(AuthSettings.cacert)
        try await answer(domain, link, progress)
    }

    /// Reads the code, and serves whoever shows it.
    private func answer(_ domain: TunnelDomain, _ link: LinkConfirmation?, _ progress: ScanProgress) async throws {
        let offer = try await read(inputs.input(patience: .seconds(timeout)), progress)
        try check(offer, domain)
        let age = offer.age(at: WallClock.realtime.now())
        if let warning = CodeAge.warning(age) { progress.tell("old-code", warning) }
        let token = try tunnelTokenFile.map(AuthSettings.token)
        let scan = self
        let ending = await withTerminationSignals {
            try await link?.ask(relay: domain.host, age: age)
            try await scan.serve(offer, domain, token, progress)
        }
        if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
        try ending.result.get()
    }

    private func read(_ input: ScanInput, _ progress: ScanProgress) async throws -> QROffer {
        guard input.isSlow else { return try await input.offer(progress) }
        let ending = await withTerminationSignals { try await input.offer(progress) }
        if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
        return try ending.result.get()
    }

    private var flags: GivenFlags {
        var flags = GivenFlags()
        flags.set(AuthSettings.tunnelDomain, tunnelDomain)
        flags.set(AuthSettings.vault, vault)
        flags.set(AuthSettings.pinentry, pinentry)
        flags.set(AuthSettings.tunnelTokenFile, tunnelTokenFile)
        flags.set(AuthSettings.cacert, cacert)
        flags.set(AuthSettings.bleChannel, bleChannel)
        return flags
    }

    private static func help<Value>(_ setting: Setting<Value>, _ valueName: String) -> ArgumentHelp {
        ArgumentHelp("\(setting.help)", valueName: valueName)
    }

    private func relayDomain(_ settings: Configuration) throws -> TunnelDomain {
        guard let domain = try AuthSettings.domain(settings) else {
            throw CommandFailure(
                "no relay is chosen; run hybrid-auth setup, or name yours with --tunnel-domain (a number, or its host "
                    + "name)",
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

    private func serve(
        _ offer: QROffer,
        _ domain: TunnelDomain,
        _ token: BearerToken?,
        _ progress: ScanProgress
    ) async throws {
        let radio: BluetoothRadio
        do {
            radio = try await BluetoothRadio.open(adapter: road.adapter, for: .advertiser)
        } catch {
            throw CommandFailure(error)
        }
        if radio.isVirtual { progress.tell("virtual-radio", "VIRTUAL RADIO: no proximity proof") }
        let way = TransportKind(relay: domain.host)
        do {
            let user = try PinentryUser(
                program: pinentry,
                way: way,
                age: offer.age(at: WallClock.realtime.now()),
                virtualRadio: radio.isVirtual
            )
            let opened = try await VaultOpening(path: vault, virtualRadio: radio.isVirtual).open(asking: user, progress)
            let authenticator = Authenticator(store: opened, user: user)
            try await serve(offer, domain, token, radio, authenticator, opened, progress, way)
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
        _ vault: Vault,
        _ progress: ScanProgress,
        _ way: TransportKind
    ) async throws {
        var timeouts = AuthenticatorTimeouts()
        timeouts.untilClient = .seconds(timeout)
        let route = RelayRoute(
            detours: road.connectTo,
            trustedCertificates: cacert,
            proxies: ProxySettings(environment: ProcessEnvironment.variables)
        )
        let session = AuthenticatorSession(
            radio: radio,
            location: route.location(of: domain),
            bearerToken: token,
            timeouts: timeouts,
            acceptsBLEChannel: bleChannel ?? true
        )
        let end: Result<AuthenticatorOutcome, any Error>
        do {
            end = .success(
                try await session.serve(
                    offer,
                    info: Authenticator.info,
                    events: { event in
                        way.note(event)
                        progress.show(event)
                    },
                    answer: { await authenticator.answer($0) },
                    sent: { await authenticator.sent() },
                    delivered: {
                        do throws(StoreFailure) {
                            try await authenticator.delivered()
                        } catch {
                            progress.tell("old-passkey-stays", ScanOutcome.notDeleted(error))
                        }
                    }
                )
            )
        } catch {
            end = .failure(error)
        }
        // However the session ended, what became of its last request belongs into the history.
        await authenticator.ended()
        if await authenticator.keptReplaced { progress.tell("old-passkey-stays", ScanOutcome.notHeard) }
        if let failure = await authenticator.historyFailure {
            progress.tell("history-not-written", ScanOutcome.notNoted(failure))
        }
        do {
            try await ScanOutcome(authenticator, vault).judge(end.get(), by: way.kind)
        } catch let failure as AuthenticatorSessionFailure {
            throw CommandFailure(failure)
        }
    }
}
