// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession
internal import HybridVault

/// A scan with its resolved settings, which reads a code and serves the device that shows it.
struct ScanRunner: Sendable {
    private let progress: ScanProgress
    private let input: ScanInput
    /// The confirmation that precedes the scan if a link started the program; otherwise `nil`.
    private let link: LinkConfirmation?
    /// The relay to use.
    private let domain: TunnelDomain
    private let network: NetworkConfiguration
    /// Path of the file with the relay's token.
    private let tokenFile: String?
    /// The adapter; `nil` for the first that is on.
    private let adapter: AdapterName?
    private let acceptsBLEChannel: Bool
    /// The kinds of relying parties for which requests are answered.
    private let relyingParties: Set<RelyingPartyID.Kind>
    /// The vault's directory; `nil` for the default.
    private let vault: String?
    /// The pinentry program; `nil` for the default.
    private let pinentry: String?
    /// Time limit for the other device to connect.
    private let timeout: Duration

    /// Creates the runner of a command from its settings.
    ///
    /// - Throws: ``CommandFailure`` if a required setting is missing or unusable.
    init(_ command: Scan, _ settings: Configuration, _ progress: ScanProgress) throws {
        self.progress = progress
        timeout = .seconds(command.timeout)
        input = command.inputs.input(cameraTimeout: timeout)
        pinentry = try settings.value(AuthSettings.pinentry)
        vault = try settings.value(AuthSettings.vault)
        acceptsBLEChannel = try settings.value(AuthSettings.bleChannel)
        relyingParties = try settings.value(AuthSettings.localServices) ? Set(RelyingPartyID.Kind.allCases) : [.domain]
        adapter = command.network.adapter
        network = NetworkConfiguration(
            connectTo: command.network.connectTo,
            trustedCertificates: try settings.value(AuthSettings.cacert),
            proxies: ProxySettings(environment: ProcessEnvironment.variables)
        )
        link = try command.inputs.isLink ? LinkConfirmation(pinentry: .forScan(pinentry)) : nil
        guard let domain = try AuthSettings.domain(settings) else {
            throw CommandFailure(
                "no relay is chosen; run hybrid-auth setup, or name yours with --tunnel-domain (a number, or its host "
                    + "name)",
                status: .usage
            )
        }
        self.domain = domain
        tokenFile = try AuthSettings.tokenFile(for: domain, settings)
        try settings.checkCertificates(AuthSettings.cacert, with: TrustAnchors.check)
    }

    /// Runs the scan; throws an error unless it succeeds.
    func run() async throws {
        let readOffer: @Sendable () async throws -> QROffer = { try await input.offer(progress) }
        let offer = try await input.isSlow ? untilSignal(run: readOffer) : readOffer()
        try check(offer)
        let age = offer.age(at: WallClock.realtime.now())
        if let warning = CodeAge.warning(age) { progress.notify("old-code", warning) }
        let token = try tokenFile.map(AuthSettings.token)
        try await untilSignal {
            try await link?.ask(relay: domain.host, age: age)
            try await serve(offer, token)
        }
    }

    /// Checks the contents of the code before any radio or network is used.
    private func check(_ offer: QROffer) throws {
        if domain.isAssigned, Int(domain.id) >= offer.assignedDomainsKnown {
            throw CommandFailure(
                "the other device does not know the relay \(domain.host); choose a tunnel domain with a number of 256 or higher",
                status: .usage
            )
        }
        if offer.hint == .presentCredential || offer.hint == .issueCredential {
            throw CommandFailure(
                "the code asks for a digital credential; this program supports only passkeys",
                status: .dataError
            )
        }
    }

    private func serve(_ offer: QROffer, _ token: BearerToken?) async throws {
        let radio = try await BluetoothRadio.open(adapter: adapter, for: .advertiser)
        if radio.isVirtual { progress.notify("virtual-radio", "VIRTUAL RADIO: no proximity proof") }
        if let unverified = radio.unverifiedBus { progress.notify("unverified-bus", unverified) }
        try await withCleanup {
            await radio.close()
        } of: {
            try await serve(offer, token, by: radio)
        }
    }

    /// Opens the vault, or creates it, and answers the other device's requests.
    private func serve(_ offer: QROffer, _ token: BearerToken?, by radio: BluetoothRadio) async throws {
        let transport = TransportKind(relay: domain.host)
        let user = try PinentryUser(
            pinentry: .forScan(pinentry),
            transport: transport,
            age: offer.age(at: WallClock.realtime.now()),
            virtualRadio: radio.isVirtual
        )
        let location = try VaultLocation(path: vault)
        let store = ReportingVault(
            vault: try await .openOrCreate(at: location, under: radio, asking: user, progress),
            progress: progress
        )
        let authenticator = Authenticator(store: store, user: user)
        let outcome = try await withCleanup {
            // The outcome of the last request belongs in the history, no matter how the session ended.
            await authenticator.sessionEnded()
            if await authenticator.keptReplaced {
                progress.notify("old-passkey-stays", ScanOutcome.replacementUnconfirmed)
            }
            if let failure = await authenticator.recordingFailure {
                progress.notify("passkey-not-recorded", ScanOutcome.notRecorded(failure))
            }
            if let failure = await authenticator.historyFailure {
                progress.notify("history-not-written", ScanOutcome.historyNotWritten(failure))
            }
        } of: {
            try await session(token, by: radio).serve(
                offer,
                info: Authenticator.info,
                events: { event in
                    transport.update(event)
                    progress.show(event)
                },
                answer: { await authenticator.answer($0) },
                sent: { await authenticator.responseSent() },
                delivered: {
                    do throws(StoreFailure) {
                        try await authenticator.responseDelivered()
                    } catch {
                        progress.notify("old-passkey-stays", ScanOutcome.notDeleted(error))
                    }
                }
            )
        }
        try await ScanOutcome(authenticator: authenticator, transport: transport.kind).check(outcome)
    }

    private func session(_ token: BearerToken?, by radio: BluetoothRadio) -> AuthenticatorSession {
        var timeouts = AuthenticatorTimeouts()
        timeouts.untilClient = timeout
        return AuthenticatorSession(
            radio: radio,
            relay: RelayEndpoint(domain: domain, network: network),
            bearerToken: token,
            timeouts: timeouts,
            acceptsBLEChannel: acceptsBLEChannel,
            relyingParties: relyingParties
        )
    }
}

/// A vault that reports the files it ignores when it is unlocked.
private struct ReportingVault: CredentialStore {
    let vault: Vault
    let progress: ScanProgress

    func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        let unlocked = try await vault.open(with: pin)
        for line in unlocked.warnings.lines { progress.notify("vault-file-ignored", line) }
        return unlocked
    }
}

extension Vault {
    /// Opens the vault for a scan.
    ///
    /// If there is no vault, asks for a new PIN and creates one, before any network traffic.
    static func openOrCreate(
        at location: VaultLocation,
        under radio: BluetoothRadio,
        asking user: PinentryUser,
        _ progress: ScanProgress
    ) async throws -> Vault {
        do throws(VaultError) {
            return try open(at: location, virtualRadio: radio.isVirtual)
        } catch .doesNotExist {
            // In a container with the user's home, the vault's path is that of the host.
            if let cause = radio.unverifiedBus {
                throw CommandFailure(
                    "there is no vault, and none is created under a virtual radio: \(cause)",
                    status: .notPermitted
                )
            }
            let pin = try await user.askNewPIN(forVaultAt: location.directory)
            let vault = try await create(at: location, pin: pin, isTest: radio.isVirtual)
            progress.notify(
                "vault-made",
                "created a new vault at \(location.directory); it opens on this device only, so a passkey that exists "
                    + "nowhere else is lost with it"
            )
            return vault
        } catch {
            guard case .realVaultRefusesVirtualRadio = error, let cause = radio.unverifiedBus else { throw error }
            throw CommandFailure("this vault does not open under a virtual radio: \(cause)", status: error.status)
        }
    }
}
