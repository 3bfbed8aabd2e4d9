// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession
internal import HybridVault

/// Reads a code and serves the device that shows it.
struct ScanRunner: Sendable {
    let configuration: ScanConfiguration
    let progress: ScanProgress

    /// Returns after a successful scan; throws otherwise.
    func run() async throws {
        let input = configuration.input
        let readOffer: @Sendable () async throws -> QROffer = { [progress] in try await input.offer(progress) }
        let offer = try await input.isSlow ? Self.interruptible(readOffer) : readOffer()
        try check(offer)
        let age = offer.age(at: WallClock.realtime.now())
        if let warning = CodeAge.warning(age) { progress.notify("old-code", warning) }
        let token = try configuration.tokenFile.map(AuthSettings.token)
        try await Self.interruptible {
            try await configuration.link?.ask(relay: configuration.domain.host, age: age)
            try await serve(offer, token)
        }
    }

    /// Runs `body` until it ends or a signal cancels it.
    private static func interruptible<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let ending = await withTerminationSignals(run: body)
        if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
        return try ending.result.get()
    }

    /// Checks the contents of the code before any radio or network is used.
    private func check(_ offer: QROffer) throws {
        let domain = configuration.domain
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

    private func serve(_ offer: QROffer, _ token: BearerToken?) async throws {
        let radio: BluetoothRadio
        do {
            radio = try await BluetoothRadio.open(adapter: configuration.adapter, for: .advertiser)
        } catch {
            throw CommandFailure(error)
        }
        if radio.isVirtual { progress.notify("virtual-radio", "VIRTUAL RADIO: no proximity proof") }
        do {
            try await ScanCeremony(configuration, progress, radio, offer).run(token)
        } catch {
            await radio.close()
            throw error
        }
        await radio.close()
    }
}

/// The ceremony of one scanned code.
private struct ScanCeremony: Sendable {
    let configuration: ScanConfiguration
    let progress: ScanProgress
    let radio: BluetoothRadio
    let offer: QROffer
    let transport: TransportKind
    let authenticator: Authenticator

    /// Opens the vault, or creates it.
    init(
        _ configuration: ScanConfiguration,
        _ progress: ScanProgress,
        _ radio: BluetoothRadio,
        _ offer: QROffer
    ) async throws {
        self.configuration = configuration
        self.progress = progress
        self.radio = radio
        self.offer = offer
        transport = TransportKind(relay: configuration.domain.host)
        let user = try PinentryUser(
            program: configuration.pinentry,
            transport: transport,
            age: offer.age(at: WallClock.realtime.now()),
            virtualRadio: radio.isVirtual
        )
        let vault = try await VaultOpening(path: configuration.vault, virtualRadio: radio.isVirtual)
            .open(asking: user, progress)
        authenticator = Authenticator(store: vault, user: user)
    }

    func run(_ token: BearerToken?) async throws {
        let outcome: Result<AuthenticatorOutcome, any Error>
        do {
            outcome = .success(try await serve(token))
        } catch {
            outcome = .failure(error)
        }
        // However the session ended, the outcome of its last request belongs in the history.
        await authenticator.sessionEnded()
        if await authenticator.keptReplaced { progress.notify("old-passkey-stays", ScanOutcome.replacementUnconfirmed) }
        if let failure = await authenticator.historyFailure {
            progress.notify("history-not-written", ScanOutcome.historyNotWritten(failure))
        }
        do {
            try await ScanOutcome(authenticator).check(outcome.get(), over: transport.kind)
        } catch let failure as AuthenticatorSessionFailure {
            throw CommandFailure(failure)
        }
    }

    private func serve(_ token: BearerToken?) async throws -> AuthenticatorOutcome {
        var timeouts = AuthenticatorTimeouts()
        timeouts.untilClient = configuration.timeout
        let session = AuthenticatorSession(
            radio: radio,
            relay: RelayEndpoint(domain: configuration.domain, network: configuration.network),
            bearerToken: token,
            timeouts: timeouts,
            acceptsBLEChannel: configuration.acceptsBLEChannel
        )
        return try await session.serve(
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
}
