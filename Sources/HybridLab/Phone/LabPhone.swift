// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridThreads

/// The lab's phone: the authenticator of `hybrid-auth` with a scripted user.
struct LabPhone: Sendable {
    let store: MemoryCredentialStore
    let relay: RelayEndpoint
    let adapter: AdapterName?
    let timeout: Duration
    let report: PhoneReport
    /// The links with clients; `nil` if the phone offers none.
    var links: LabLinks?

    /// Runs the script with the client that shows the code.
    ///
    /// - Throws: ``CommandFailure`` if the ceremony deviates from the script, `CancellationError`.
    func play(_ script: PhoneScript, _ offer: QROffer) async throws {
        report.code(offer, script)
        try await play(script) { try await serve(script, offer) }
    }

    /// Runs the script with a linked client whose wake-up the user has approved.
    ///
    /// - Returns: The failure if the ceremony deviates from the script.
    func play(_ script: PhoneScript, _ wakeUp: ApprovedWakeUp, _ identity: PhoneIdentity) async -> CommandFailure? {
        do {
            try await play(script) {
                try await withRadio { radio in try await serve(script, wakeUp, identity, by: radio) }
            }
            return nil
        } catch let failure as CommandFailure {
            return failure
        } catch {
            return CommandFailure("interrupted", status: .interrupted)
        }
    }

    private func play(
        _ script: PhoneScript,
        _ ceremony: @escaping @Sendable () async throws -> PhoneOutcome
    ) async throws {
        do {
            let ending = try await outcome(script, ceremony)
            report.end(ending)
            if let sentence = await store.takeWriteFailure() { throw CommandFailure(sentence, status: .ioError) }
            if ending == .clientLeftDuringRequest, script.fault == nil {
                throw CommandFailure(ending.sentence, status: .temporary)
            }
        } catch let failure as any ExplainedFailure {
            throw Self.explained(failure)
        }
    }

    /// The failure; if there is no radio, with a remedy for the lab instead of one for a computer with Bluetooth.
    private static func explained(_ failure: some ExplainedFailure) -> CommandFailure {
        let gone = [RadioError.noSystemBus, .noBluetoothService, .bluetoothServiceGone]
        guard gone.contains(where: { $0.code == failure.code }) else { return CommandFailure(failure) }
        return CommandFailure(
            "the lab's virtual radio does not respond; start hybrid-lab up again, or run this phone in hybrid-lab run",
            code: failure.code,
            status: failure.status
        )
    }

    /// Runs a ceremony, which ends after three times the timeout even if the script hangs, and returns its outcome.
    private func outcome(
        _ script: PhoneScript,
        _ ceremony: @escaping @Sendable () async throws -> PhoneOutcome
    ) async throws -> PhoneOutcome {
        var late: any Error = CommandFailure("the ceremony took too long; --timeout gives it more", status: .temporary)
        if case .hang = script.fault { late = ScriptedEnd(outcome: .hung) }
        do {
            return try await withDeadline(timeout * 3, orThrow: late) { try await ceremony() }
        } catch let end as ScriptedEnd {
            return end.outcome
        }
    }

    private func serve(_ script: PhoneScript, _ offer: QROffer) async throws -> PhoneOutcome {
        guard script.hasTwin else { return try await serveAlone(script, offer) }
        // Both phones advertise. The client connects to one of them, and the other is canceled.
        let twins = Locked<[Task<PhoneOutcome, any Error>]>([])
        let chosen: @Sendable (Int) -> Void = { index in
            for (other, task) in twins.withLock({ $0 }).enumerated() where other != index { task.cancel() }
        }
        // The tasks are started while the lock is held, so that neither can be chosen before both are stored.
        let tasks = twins.withLock { twins in
            twins = (0...1).map { index in
                Task { try await serveAlone(script, offer, connected: { chosen(index) }) }
            }
            return twins
        }
        return try await withTaskCancellationHandler {
            var ending: PhoneOutcome?
            var failure: any Error = CancellationError()
            for task in tasks {
                do { ending = try await task.value } catch is CancellationError {} catch { failure = error }
            }
            guard let ending else { throw failure }
            return ending
        } onCancel: {
            for task in tasks { task.cancel() }
        }
    }

    private func serveAlone(
        _ script: PhoneScript,
        _ offer: QROffer,
        connected: @escaping @Sendable () -> Void = {}
    ) async throws -> PhoneOutcome {
        try await withRadio { radio in try await serve(script, offer, by: radio, connected: connected) }
    }

    private func withRadio(_ body: (BluetoothRadio) async throws -> PhoneOutcome) async throws -> PhoneOutcome {
        let radio = try await BluetoothRadio.open(adapter: adapter, for: .advertiser)
        return try await withCleanup {
            await radio.close()
        } of: {
            // This phone approves every request, so it must not be used near a real client.
            guard radio.isVirtual else {
                throw CommandFailure(
                    "this phone agrees to everything and works with a virtual radio only; run it in hybrid-lab run, or "
                        + "use hybrid-auth",
                    code: "real-radio",
                    status: .usage
                )
            }
            return try await body(radio)
        }
    }

    private func serve(
        _ script: PhoneScript,
        _ offer: QROffer,
        by radio: BluetoothRadio,
        connected: @escaping @Sendable () -> Void
    ) async throws -> PhoneOutcome {
        let user = SimulatedAuthenticator(store, script, report)
        let wallet =
            offer.hint.isForWallets && !script.hasNoWallet ? ScriptedWallet(script: script, report: report) : nil
        guard !script.needsOwnSession else {
            return try await ScriptedSession(
                radio: radio,
                relay: relay,
                script: script,
                report: report,
                answer: user.answer,
                delivered: user.delivered,
                wallet: wallet
            ).serve(offer)
        }
        let link = script.offersLink && offer.supportsLinking == true ? links?.newLink(at: relay.domain) : nil
        let end = try await session(relay, radio).serve(
            offer,
            linking: link.flatMap { links?.offer($0) },
            info: script.capabilities,
            handlers: user.handlers(wallet) { [report, links] event in
                if case .clientVerified = event { connected() }
                if case .linkOffered = event, let link, let links { report.linked(link, in: links) }
            }
        )
        await user.authenticator.sessionEnded()
        return PhoneOutcome(end)
    }

    /// Serves a linked client after the user's tap.
    private func serve(
        _ script: PhoneScript,
        _ wakeUp: ApprovedWakeUp,
        _ identity: PhoneIdentity,
        by radio: BluetoothRadio
    ) async throws -> PhoneOutcome {
        let user = SimulatedAuthenticator(store, script, report)
        let endpoint = RelayEndpoint(domain: wakeUp.request.link.domain, network: relay.network)
        let end = try await session(endpoint, radio).serveLinked(
            wakeUp,
            identity: identity,
            info: script.capabilities,
            handlers: user.handlers()
        )
        await user.authenticator.sessionEnded()
        return PhoneOutcome(end)
    }

    private func session(_ relay: RelayEndpoint, _ radio: BluetoothRadio) -> AuthenticatorSession {
        var timeouts = AuthenticatorTimeouts()
        timeouts.untilClient = timeout
        return AuthenticatorSession(
            radio: radio,
            relay: relay,
            timeouts: timeouts,
            relyingParties: Set(RelyingPartyID.Kind.allCases)
        )
    }
}

/// The authenticator of one ceremony, with a user who follows the script.
private struct SimulatedAuthenticator: Sendable {
    let authenticator: Authenticator
    private let script: PhoneScript
    private let report: PhoneReport

    init(_ store: MemoryCredentialStore, _ script: PhoneScript, _ report: PhoneReport) {
        let user = ScriptedUser(pin: .lab, script: script) { [report] in report.user($0) }
        authenticator = Authenticator(store: store, user: user)
        (self.script, self.report) = (script, report)
    }

    /// Returns the response to a request.
    @Sendable func answer(_ request: CTAPRequest) async -> CTAPResponse {
        switch (script.user, request) {
        case (.noCredentials, .getAssertion): .failure(.noCredentials)
        case (.excluded, .makeCredential): .failure(.credentialExcluded)
        default: altered(await authenticator.answer(request), to: request)
        }
    }

    /// Returns a response with the scripted fault of `prf`, if there is one, and reports it.
    private func altered(_ response: CTAPResponse, to request: CTAPRequest) -> CTAPResponse {
        guard let altered = script.prf?.altered(response, to: request) else { return response }
        report.fault("returns \(altered.prf) for prf")
        return altered.response
    }

    /// Returns the handlers of a session, which report events and requests; `observer` is called before an event is
    /// reported.
    func handlers(
        _ wallet: ScriptedWallet? = nil,
        observer: @escaping @Sendable (AuthenticatorEvent) -> Void = { _ in }
    ) -> AuthenticatorSession.Handlers {
        AuthenticatorSession.Handlers(
            events: { [report] event in
                observer(event)
                report.event(event)
            },
            answer: { request in
                report.request(request)
                return await answer(request)
            },
            sent: { await authenticator.responseSent() },
            delivered: delivered,
            wallet: wallet?.reply
        )
    }

    /// Called when the client has confirmed the response.
    @Sendable func delivered() async { try? await authenticator.responseDelivered() }
}
