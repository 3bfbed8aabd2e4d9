// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCeremonySupport
internal import HybridCommandSupport
internal import HybridDataChannel
public import HybridPrimitives
internal import HybridSession
internal import HybridThreads

/// The lab's phone: the product's authenticator, played by a script.
struct LabPhone: Sendable {
    let store: MemoryCredentialStore
    let location: RelayEndpoint
    let adapter: AdapterName?
    let timeout: Duration
    let report: PhoneReport

    /// Reads a code and plays the script to whoever shows it.
    ///
    /// - Throws: ``CommandFailure`` if the ceremony did not go as the script has it, `CancellationError`.
    func play(_ script: PhoneScript, _ offer: QROffer) async throws {
        report.code(offer, script)
        do {
            let ending = try await withTimeLimit(script) { try await serve(script, offer) }
            report.end(ending)
            if let why = await store.takeUnwritten() { throw CommandFailure(why, status: .ioError) }
            if ending == .leftDuringRequest, script.fault == nil {
                throw CommandFailure(ending.sentence, status: .temporary)
            }
        } catch let failure as any ExplainedFailure {
            throw CommandFailure(failure)
        }
    }

    private func serve(_ script: PhoneScript, _ offer: QROffer) async throws -> PhoneOutcome {
        guard script.hasTwin else { return try await serveAlone(script, offer) }
        // Both are on the air; which of them the desktop takes is its choice, and the other one goes home.
        let twins = Locked<[Task<PhoneOutcome, any Error>]>([])
        let chosen: @Sendable (Int) -> Void = { index in
            for (other, task) in twins.withLock({ $0 }).enumerated() where other != index { task.cancel() }
        }
        // Begun under the lock: neither can be chosen before both are known.
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
        do {
            // It says yes to anything, so it must not be near a desktop that anybody means.
            guard radio.isVirtual else {
                throw CommandFailure(
                    "this phone agrees to everything and works by a virtual radio only; run it beside hybrid-lab up, or "
                        + "use hybrid-auth",
                    code: "real-radio",
                    status: .usage
                )
            }
            let ending = try await serve(script, offer, by: radio, connected: connected)
            await radio.close()
            return ending
        } catch {
            await radio.close()
            throw error
        }
    }

    private func serve(
        _ script: PhoneScript,
        _ offer: QROffer,
        by radio: BluetoothRadio,
        connected: @escaping @Sendable () -> Void
    ) async throws -> PhoneOutcome {
        let person = ScriptedUser(pin: .lab, script: script) { [report] in report.person($0) }
        let authenticator = Authenticator(store: store, user: person)
        let answer: @Sendable (CTAPRequest) async -> CTAPResponse = { request in
            switch (script.person, request) {
            case (.noCredentials, .getAssertion): .failure(.noCredentials)
            case (.excluded, .makeCredential): .failure(.credentialExcluded)
            default: await authenticator.answer(request)
            }
        }
        guard !script.needsOwnSession else {
            return try await ScriptedSession(
                radio: radio,
                location: location,
                script: script,
                report: report,
                answer: answer,
                delivered: { try? await authenticator.delivered() }
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
        let session = AuthenticatorSession(radio: radio, location: location, timeouts: timeouts)
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
                // There is no channel by a virtual radio alone, and every way leads through the lab's relay.
                case .redirected, .request, .listeningByRadio, .radioChannelFailed, .relayOut: break
                }
            },
            answer: answer,
            sent: { await authenticator.sent() },
            delivered: { try? await authenticator.delivered() }
        )
        await authenticator.ended()
        switch end {
        case .shutDown: return .goodbye
        case .clientLeft: return .left
        case .clientLeftDuringRequest, .answerLost: return .leftDuringRequest
        }
    }

    /// However the script hangs, a ceremony ends.
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
