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
            let ending = try await withTimeLimit(script) { try await serve(script, offer) }
            report.end(ending)
            if let sentence = await store.takeWriteFailure() { throw CommandFailure(sentence, status: .ioError) }
            if ending == .clientLeftDuringRequest, script.fault == nil {
                throw CommandFailure(ending.sentence, status: .temporary)
            }
        } catch let failure as any ExplainedFailure {
            throw CommandFailure(failure)
        }
    }

    private func serve(_ script: PhoneScript, _ offer: QROffer) async throws -> PhoneOutcome {
        guard script.hasTwin else { return try await serveAlone(script, offer) }
        // Both phones advertise. The client chooses one, and the other stops.
        let twins = Locked<[Task<PhoneOutcome, any Error>]>([])
        let chosen: @Sendable (Int) -> Void = { index in
            for (other, task) in twins.withLock({ $0 }).enumerated() where other != index { task.cancel() }
        }
        // Started under the lock: neither can be chosen before both are stored.
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
            // This phone agrees to everything, so it must not be near a client that a person uses.
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
        guard !script.needsOwnSession else {
            return try await ScriptedSession(
                radio: radio,
                relay: relay,
                script: script,
                report: report,
                answer: answer,
                delivered: { try? await authenticator.responseDelivered() }
            ).serve(offer)
        }
        return try await serve(offer, by: radio, authenticator, connected: connected) { [report] request in
            report.request(request)
            return await answer(request)
        }
    }

    private func serve(
        _ offer: QROffer,
        by radio: BluetoothRadio,
        _ authenticator: Authenticator,
        connected: @escaping @Sendable () -> Void,
        answer: @escaping @Sendable (CTAPRequest) async -> CTAPResponse
    ) async throws -> PhoneOutcome {
        var timeouts = AuthenticatorTimeouts()
        timeouts.untilClient = timeout
        let session = AuthenticatorSession(radio: radio, relay: relay, timeouts: timeouts)
        let report = report
        let end = try await session.serve(
            offer,
            info: Authenticator.info,
            events: { event in
                switch event {
                case .tunnelOpen(let domain): report.tunnel(domain)
                case .advertising: report.advertising()
                case .clientVerified:
                    connected()
                    report.connected()
                case .request(nil): report.request(nil)
                case .answered(let status): report.answer(status)
                // A virtual radio has no L2CAP channels, and the lab's relay does not redirect.
                case .redirected, .request, .listeningByRadio, .radioChannelFailed, .relayUnusable: break
                }
            },
            answer: answer,
            sent: { await authenticator.responseSent() },
            delivered: { try? await authenticator.responseDelivered() }
        )
        await authenticator.sessionEnded()
        switch end {
        case .shutDown: return .shutDown
        case .clientLeft: return .clientLeft
        case .clientLeftDuringRequest, .answerLost: return .clientLeftDuringRequest
        }
    }

    /// Ends a ceremony after three times the timeout, even if the script hangs.
    private func withTimeLimit(
        _ script: PhoneScript,
        _ body: @escaping @Sendable () async throws -> PhoneOutcome
    ) async throws -> PhoneOutcome {
        let limit = timeout * 3
        return try await withThrowingTaskGroup(of: PhoneOutcome.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: limit)
                if case .hang = script.fault { return .hung }
                throw CommandFailure("the ceremony took too long; --timeout gives it more", status: .temporary)
            }
            defer { group.cancelAll() }
            guard let ending = try await group.next() else { throw CancellationError() }
            return ending
        }
    }
}
