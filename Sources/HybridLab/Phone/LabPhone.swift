// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession
internal import HybridThreads

/// The lab's phone: the authenticator of `hybrid-auth` with a scripted user.
struct LabPhone: Sendable {
    let store: MemoryCredentialStore
    let relay: RelayEndpoint
    let adapter: AdapterName?
    let timeout: Duration
    let report: PhoneReport

    /// Runs the script with the client that shows the code.
    ///
    /// - Throws: ``CommandFailure`` if the ceremony deviates from the script, `CancellationError`.
    func play(_ script: PhoneScript, _ offer: QROffer) async throws {
        report.code(offer, script)
        do {
            let ending = try await outcome(script, offer)
            report.end(ending)
            if let sentence = await store.takeWriteFailure() { throw CommandFailure(sentence, status: .ioError) }
            if ending == .clientLeftDuringRequest, script.fault == nil {
                throw CommandFailure(ending.sentence, status: .temporary)
            }
        } catch let failure as any ExplainedFailure {
            throw CommandFailure(failure)
        }
    }

    /// Runs a ceremony, which ends after three times the timeout even if the script hangs, and returns its outcome.
    private func outcome(_ script: PhoneScript, _ offer: QROffer) async throws -> PhoneOutcome {
        var late: any Error = CommandFailure("the ceremony took too long; --timeout gives it more", status: .temporary)
        if case .hang = script.fault { late = ScriptedEnd(outcome: .hung) }
        do {
            return try await withDeadline(timeout * 3, orThrow: late) { try await serve(script, offer) }
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
        let radio = try await BluetoothRadio.open(adapter: adapter, for: .advertiser)
        return try await withCleanup {
            await radio.close()
        } of: {
            // This phone approves every request, so it must not be used near a real client.
            guard radio.isVirtual else {
                throw CommandFailure(
                    "this phone agrees to everything and works with a virtual radio only; run it with hybrid-lab up, or "
                        + "use hybrid-auth",
                    code: "real-radio",
                    status: .usage
                )
            }
            return try await serve(script, offer, by: radio, connected: connected)
        }
    }

    private func serve(
        _ script: PhoneScript,
        _ offer: QROffer,
        by radio: BluetoothRadio,
        connected: @escaping @Sendable () -> Void
    ) async throws -> PhoneOutcome {
        let user = ScriptedUser(pin: .lab, script: script) { [report] in report.user($0) }
        let authenticator = Authenticator(store: store, user: user)
        let answer: @Sendable (CTAPRequest) async -> CTAPResponse = { request in
            switch (script.user, request) {
            case (.noCredentials, .getAssertion): .failure(.noCredentials)
            case (.excluded, .makeCredential): .failure(.credentialExcluded)
            default: await authenticator.answer(request)
            }
        }
        let delivered: @Sendable () async -> Void = { try? await authenticator.responseDelivered() }
        guard !script.needsOwnSession else {
            return try await ScriptedSession(
                radio: radio,
                relay: relay,
                script: script,
                report: report,
                answer: answer,
                delivered: delivered
            ).serve(offer)
        }
        var timeouts = AuthenticatorTimeouts()
        timeouts.untilClient = timeout
        let end = try await AuthenticatorSession(
            radio: radio,
            relay: relay,
            timeouts: timeouts,
            relyingParties: Set(RelyingPartyID.Kind.allCases)
        ).serve(
            offer,
            info: Authenticator.info,
            events: { [report] event in
                if case .clientVerified = event { connected() }
                report.event(event)
            },
            answer: { [report] request in
                report.request(request)
                return await answer(request)
            },
            sent: { await authenticator.responseSent() },
            delivered: delivered
        )
        await authenticator.sessionEnded()
        return switch end {
        case .shutDown: .shutDown
        case .clientLeft: .clientLeft
        case .clientLeftDuringRequest, .answerLost: .clientLeftDuringRequest
        }
    }
}
