// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridTPM
internal import HybridThreads

/// A scan with its resolved settings, which reads a code and answers the device that shows it.
struct ScanRunner: Sendable {
    private let progress: AnswerProgress
    private let input: ScanInput
    /// The decision about a link with the other device.
    private let linking: LinkOfferDecision
    /// The prompt that precedes the scan if an opened URL started the program; otherwise `nil`.
    private let openedURLPrompt: OpenedURLPrompt?
    private let scanner: ScannerSettings
    /// The kinds of relying parties for which requests are answered.
    private let relyingParties: Set<RelyingPartyID.Kind>
    /// The vault's directory; `nil` for the default.
    private let vault: String?
    private let tpm: TPMAddress
    private let questioner: Questioner

    /// Creates the runner of a command from its settings.
    ///
    /// - Throws: ``CommandFailure`` if a required setting is missing or unusable.
    init(
        _ command: ScanCommand,
        _ settings: Configuration,
        _ questioner: Questioner,
        _ progress: AnswerProgress
    ) throws {
        (self.questioner, self.progress) = (questioner, progress)
        let timeout = Duration.seconds(command.timeout)
        input = command.inputs.input(cameraTimeout: timeout)
        vault = try settings.value(AuthSettings.vault)
        tpm = try settings.value(AuthSettings.tpm)
        relyingParties = try settings.value(AuthSettings.localServices) ? Set(RelyingPartyID.Kind.allCases) : [.domain]
        openedURLPrompt = command.inputs.isOpenedURL ? OpenedURLPrompt(questioner: questioner) : nil
        scanner = try ScannerSettings(settings, command.network, timeout: timeout)
        linking = LinkOfferDecision(
            label: command.linkAs,
            asks: try settings.value(AuthSettings.askToLink),
            domain: scanner.domain,
            usesPush: try settings.value(AuthSettings.push),
            questioner: questioner
        )
    }

    /// Reads the code and answers the device that shows it; throws an error unless a request succeeds.
    func scan() async throws {
        let readOffer: @Sendable () async throws -> QROffer = { try await input.code(.signIn, progress) }
        let offer = try await input.isSlow ? untilSignal(run: readOffer) : readOffer()
        try check(offer)
        let age = offer.age(at: WallClock.realtime.now())
        if let warning = CodeAge.warning(age) { progress.notify("old-code", warning) }
        let token = try scanner.token()
        // A signal while the tunnel is closed in order must not make a failure of an answered request.
        try await untilSignal(keepsResult: true) {
            try await openedURLPrompt?.ask(relay: scanner.domain.host, age: age)
            // Before any radio or network, because the update follows the handshake at once.
            let newLink = try await linking.newLink(for: offer, progress)
            try await BluetoothRadio.whileOpen(scanner.adapter, progress) { radio in
                try await performCeremony(offer, newLink, token, by: radio)
            }
        }
    }

    /// Checks the contents of the code before any radio or network is used.
    private func check(_ offer: QROffer) throws {
        let domain = scanner.domain
        if domain.isAssigned, Int(domain.id) >= offer.assignedDomainsKnown {
            throw CommandFailure(
                "the other device does not know the relay \(domain.host); choose a tunnel domain with a number of 256 or higher",
                status: .usage
            )
        }
        if offer.hint == .presentCredential || offer.hint == .issueCredential {
            throw CommandFailure(
                "the code asks for a digital credential, and hybrid-auth is not a wallet; scan it with a phone that "
                    + "has one",
                status: .dataError
            )
        }
    }

    /// Opens the vault, or creates it, and answers the other device's requests.
    private func performCeremony(
        _ offer: QROffer,
        _ newLink: NewLink?,
        _ token: BearerToken?,
        by radio: BluetoothRadio
    ) async throws {
        let context = SignInContext(
            transport: ClientTransport(relay: scanner.domain.host),
            age: offer.age(at: WallClock.realtime.now()),
            virtualRadio: radio.isVirtual
        )
        let prompts = SignInPrompts(questioner, context)
        let vault = VaultSession(path: vault, tpm: tpm, progress: progress)
        try await vault.withHandlers(asking: prompts, radio) { handlers in
            try await scanner.session(token, by: radio, answering: relyingParties).serve(
                offer,
                linking: newLink?.offer,
                info: Authenticator.info,
                handlers: handlers.observed { event in
                    guard case .linkOffered(let code) = event else { return }
                    context.linkCode.withLock { $0 = code }
                    newLink?.save(progress)
                }
            )
        }
    }
}
