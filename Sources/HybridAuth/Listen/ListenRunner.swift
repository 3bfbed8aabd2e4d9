// SPDX-License-Identifier: Apache-2.0

internal import HybridAsk
internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridDataChannel
internal import HybridDesktopPortal
internal import HybridNetwork
internal import HybridPhoneLinks
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridTPM
internal import HybridThreads

/// The service that waits for linked computers, with its resolved settings.
struct ListenRunner: Sendable {
    private let store: PhoneLinkStore
    private let settings: Configuration
    private let network: NetworkConfiguration
    private let adapter: AdapterName?
    private let relyingParties: Set<RelyingPartyID.Kind>
    private let vault: String?
    private let tpm: TPMAddress
    private let prompt: WakeUpPrompt
    /// The relay for new links that a push service wakes; `nil` if new links use connections.
    private let pushDomain: TunnelDomain?
    private let usesPush: Bool
    private let pushDistributor: String?
    /// The time without work after which the service ends, if the session bus starts it again.
    private let idleTime: Duration
    private let notifier = ServiceNotifier()
    /// Lines for the journal, without IDs and secrets.
    private let progress = AnswerProgress(json: false)
    /// The lines about ignored push messages, which any program of the session can cause.
    private let ignored = Locked(RepeatedLines())

    init(_ options: LinkRelayOptions, idleTime: Duration, _ settings: Configuration) throws {
        (self.settings, self.idleTime) = (settings, idleTime)
        store = try PhoneLinkStore(path: PhoneLinkStore.defaultPath(ProcessEnvironment.variables))
        var network = try options.configuration(settings)
        // A connection that waits gets a session, with which the connection for a request needs a round trip less.
        network.sessions = TLSSessions()
        self.network = network
        adapter = options.network.adapter
        relyingParties = try settings.value(AuthSettings.localServices) ? Set(RelyingPartyID.Kind.allCases) : [.domain]
        vault = try settings.value(AuthSettings.vault)
        tpm = try settings.value(AuthSettings.tpm)
        usesPush = try settings.value(AuthSettings.push)
        pushDomain = usesPush ? try AuthSettings.domain(settings) : nil
        if usesPush, pushDomain == nil {
            throw CommandFailure(
                "no relay is chosen for push messages; run hybrid-auth setup, or use --tunnel-domain",
                status: .usage
            )
        }
        if let pushDomain, pushDomain.isAssigned {
            throw CommandFailure(
                "the relay \(pushDomain.host) can't wake this device; choose a different relay",
                status: .usage
            )
        }
        pushDistributor = try settings.value(AuthSettings.pushDistributor)
        let environment = ProcessEnvironment.variables
        prompt = WakeUpPrompt(
            pinentry: try settings.value(AuthSettings.pinentry),
            askProgram: AskProgram.path(try settings.value(AuthSettings.ask), environment),
            environment: environment
        ) { SessionLock.isLocked() }
    }

    /// Listens until the task is canceled.
    func run() async throws {
        StandardError.neverBlock(program: HybridAuth.programName)
        let identity = try store.identity()
        let handler = WakeUpHandler(
            store: store,
            ask: prompt.ask,
            perform: { await performAndReport($0, $1, identity) },
            report: show
        )
        let listener = LinkListeners(
            store: store,
            handler: handler,
            destination: { try Self.destination($0, settings, network) },
            report: show
        )
        let contents = try store.contents()
        if contents.links.isEmpty {
            report("no computer is linked; show a code with hybrid-client show-qr --link and scan it")
        }
        // Links that were made with a push service stay so after the setting was turned off.
        let hasPush = try contents.links.contains { $0.push != nil } || store.reserve() != nil
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await observeResumes(listener) }
            group.addTask { try await listener.run { _ = notifier.ready() } }
            if usesPush || hasPush { group.addTask { try await receivePushMessages(handler) } }
            defer { group.cancelAll() }
            try await group.next()
        }
        _ = notifier.stopping()
    }

    /// Handles push messages until nothing is left to do; tries again while there is no session bus.
    private func receivePushMessages(_ handler: WakeUpHandler) async throws {
        var reported: PushFailure?
        while true {
            do {
                guard let address = SessionBus.address(ProcessEnvironment.variables) else {
                    throw PushFailure.noSessionBus
                }
                let service = PushService(
                    store: store,
                    handler: handler,
                    domain: pushDomain,
                    distributor: pushDistributor,
                    deviceName: NewLink.deviceName,
                    address: address,
                    idleTime: idleTime,
                    destination: { try Self.destination($0, settings, network) },
                    report: show
                )
                try await service.run()
                return report("nothing is left to do; the session bus starts this program again for a push message")
            } catch let failure as PushFailure {
                if failure != reported { report(failure.sentence) }
                reported = failure
                try await Task.sleep(for: .seconds(60))
            }
        }
    }

    /// Returns the network settings and the token for a relay.
    static func destination(
        _ domain: TunnelDomain,
        _ settings: Configuration,
        _ network: NetworkConfiguration
    ) throws -> LinkListeners.Destination {
        let token = try AuthSettings.tokenFile(for: domain, settings).map(AuthSettings.token)
        return LinkListeners.Destination(relay: RelayEndpoint(domain: domain, network: network), bearerToken: token)
    }

    /// Opens all connections again after each resume; without logind, they are opened again once they have failed.
    private func observeResumes(_ listener: LinkListeners) async {
        while !Task.isCancelled {
            try? await ResumeObserver.observe { listener.resumed() }
            try? await Task.sleep(for: .seconds(60))
        }
    }

    /// Performs the ceremony after the user's tap, and shows a failure, because users do not see standard error.
    private func performAndReport(_ wakeUp: ApprovedWakeUp, _ label: String, _ identity: PhoneIdentity) async {
        var progress = progress
        do {
            let variables = prompt.takeActivation()
            let questioner = try Questioner.forSignIn(settings, variables: variables) { [progress] in
                progress.notify($0, $1)
            }
            progress.questioner = questioner
            questioner.start()
            try await BluetoothRadio.whileOpen(adapter, progress) { [progress] radio in
                let context = SignInContext(
                    transport: ClientTransport(relay: wakeUp.request.link.domain.host),
                    age: nil,
                    virtualRadio: radio.isVirtual,
                    computer: label
                )
                try await performCeremony(wakeUp, SignInPrompts(questioner, context), identity, progress, by: radio)
            }
            report("answered the request of \(SafeText(quoting: label))")
            questioner.finish(.done)
        } catch let shown as AlreadyShownFailure {
            report(shown.failure.sentence)
            progress.questioner?.finish(.after(shown.failure, isKnown: true))
        } catch let error as any ExplainedFailure {
            report(error.sentence)
            let isShown = progress.questioner?.finish(.after(CommandFailure(error))) ?? false
            if !isShown { await prompt.show("The request was not answered", error.sentence) }
        } catch {
            if !(error is CancellationError) { report("internal fault: \(error); please report it") }
        }
    }

    private func performCeremony(
        _ wakeUp: ApprovedWakeUp,
        _ prompts: SignInPrompts,
        _ identity: PhoneIdentity,
        _ progress: AnswerProgress,
        by radio: BluetoothRadio
    ) async throws {
        let domain = wakeUp.request.link.domain
        let destination = try Self.destination(domain, settings, network).owned(by: wakeUp.request.link.id)
        let session = AuthenticatorSession(
            radio: radio,
            relay: destination.relay,
            bearerToken: destination.bearerToken,
            acceptsBLEChannel: false,
            relyingParties: relyingParties
        )
        let vault = VaultSession(path: vault, tpm: tpm, progress: progress)
        try await vault.withHandlers(asking: prompts, radio) { handlers in
            try await session.serveLinked(
                wakeUp,
                identity: identity,
                info: Authenticator.info,
                handlers: handlers
            )
        }
    }

    @Sendable private func show(_ event: LinkListeners.Event) {
        switch event {
        case .listening(let label, let host): report("\(SafeText(quoting: label)) can wake this device through \(host)")
        case .disconnected(let label, let failure):
            report("not reachable for \(SafeText(quoting: label)): \(failure.message)")
        case .cut(let label, let host, let seconds):
            let found =
                "the connection to \(host) for \(SafeText(quoting: label)) is cut repeatedly, last after \(seconds) s"
            report("\(found); a proxy or balancer limits its time, see docs/networks.md")
            // The doctor shows it.
            _ = notifier.status(found)
        case .revoked(let label): report("the link with \(SafeText(quoting: label)) is revoked at the relay")
        case .unusable(let sentence): report(sentence)
        }
    }

    @Sendable private func show(_ event: PushService.Event) {
        switch event {
        case .ready(let host): report("a push subscription for the next link is ready at \(host)")
        case .failed(let failure): report("push: \(failure.sentence)")
        case .ended(let label):
            report(LinkText.unreachable(label))
        case .unsubscribed(let label): report("the push subscription of \(SafeText(quoting: label)) has ended")
        case .ignored(let reason):
            if let line = ignored.withLock({ $0.line("ignored a push message: \(reason)") }) { report(line) }
        case .unusable(let sentence): report(sentence)
        }
    }

    @Sendable private func show(_ event: WakeUpHandler.Event) {
        switch event {
        case .ignored(let label, let reason):
            report("ignored a wake-up\(label.map { " for \(SafeText(quoting: $0))" } ?? ""): \(reason)")
        case .refused(let label, let reason): report("declined a request of \(SafeText(quoting: label)): \(reason)")
        case .asking(let label, let hint):
            report("\(SafeText(quoting: label)) asks to \(WakeUpPrompt.verb(hint))")
        case .answered(let label, let answer):
            let words =
                switch answer {
                case .approved: "approved"
                case .declined: "declined"
                case .unanswered: "not answered in time"
                }
            report("the request of \(SafeText(quoting: label)) was \(words)")
        case .muted(let label, let requester):
            let whose = requester == .guest ? " for websites and other hosts" : ""
            let sentence =
                "\(SafeText(quoting: label)) is muted\(whose) after three declined requests; to undo that, run "
                + "hybrid-auth links unmute"
            report(sentence)
            Task { await prompt.show("A computer is muted", sentence) }
        }
    }
}
