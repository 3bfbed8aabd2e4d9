// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCaBLE
internal import HybridDataChannel

/// Stage 3: the client may send requests, one at a time.
///
/// The channel is read even while a prompt is open, because the client may cancel the request. It does so by closing
/// the channel or by sending *shutdown*, and the prompt must then be closed. A request before the last one is answered
/// is a protocol violation.
struct ServedClient: Sendable {
    let channel: EncryptedChannel

    /// Maximum number of messages that a client may send.
    static let maximumMessages = 64

    /// Answers requests until the client sends *shutdown* or disconnects.
    func answerRequests(
        _ timeouts: AuthenticatorTimeouts,
        accepting relyingParties: Set<RelyingPartyID.Kind> = [.domain],
        _ handlers: AuthenticatorSession.Handlers
    ) async throws -> AuthenticatorOutcome {
        try await withThrowingTaskGroup(of: Service.Step.self) { group in
            defer { group.cancelAll() }
            var service = Service(
                channel: channel,
                relyingParties: relyingParties,
                timeouts: timeouts,
                handlers: handlers
            )
            service.receiveNext(&group)
            service.startIdleTimer(&group)
            while let step = try await group.next() {
                if let outcome = try await service.handle(step, &group) { return outcome }
            }
            return .clientLeft(.connectionLost)
        }
    }
}

/// The state of a served client.
private struct Service {
    typealias Group = ThrowingTaskGroup<Step, any Error>

    enum Step: Sendable {
        case received(ChannelMessage)
        case ended(any Error)
        case answered(Answer)
        case presented([UInt8])
        case idle
    }

    /// A response with its request; the request is `nil` if it could not be parsed.
    struct Answer: Sendable {
        let request: CTAPRequest?
        let response: CTAPResponse

        /// Returns the outcome of a session whose channel closed before this response was sent.
        func outcome(_ reason: ChannelCloseReason) -> AuthenticatorOutcome {
            switch request {
            case .makeCredential where response.status == .success: .answerLost(.makeCredential, reason)
            case .getAssertion where response.status == .success: .answerLost(.getAssertion, reason)
            default: .clientLeftDuringRequest(reason)
            }
        }
    }

    let channel: EncryptedChannel
    let relyingParties: Set<RelyingPartyID.Kind>
    let timeouts: AuthenticatorTimeouts
    let handlers: AuthenticatorSession.Handlers

    /// True while a request is being answered.
    var isBusy = false
    /// True if the last request was answered and the client has not yet confirmed the response.
    var awaitsConfirmation = false
    var receivedMessages = 0
    var parsedRequests = 0
    var unparsedRequests = 0
    /// Number of idle timers that are running.
    var idleTimers = 0

    func receiveNext(_ group: inout Group) {
        group.addTask { [channel] in
            do {
                return .received(try await channel.receive())
            } catch {
                return .ended(error)
            }
        }
    }

    mutating func startIdleTimer(_ group: inout Group) {
        idleTimers += 1
        group.addTask { [timeouts] in
            try? await Task.sleep(for: timeouts.untilRequest)
            return .idle
        }
    }

    /// Handles one event of the session.
    ///
    /// - Returns: The outcome if the session is over.
    mutating func handle(_ step: Step, _ group: inout Group) async throws -> AuthenticatorOutcome? {
        switch step {
        case .received(let message):
            if let outcome = try await receive(message, &group) { return outcome }
            receivedMessages += 1
            guard receivedMessages < ServedClient.maximumMessages else {
                throw AuthenticatorSessionFailure.clientMisbehaved("it sent too many messages")
            }
            receiveNext(&group)
            return nil
        case .answered(let answer): return try await send(answer, &group)
        case .presented(let reply): return try await send(reply, &group)
        case .ended(let error): return try await end(error, &group)
        case .idle:
            // Only the timer that was started last counts; the others belong to earlier waits.
            idleTimers -= 1
            guard !isBusy, idleTimers == 0 else { return nil }
            guard receivedMessages > 0 else { throw AuthenticatorSessionFailure.clientSilent }
            return try checked(.clientLeft(.timedOut))
        }
    }

    private mutating func receive(
        _ message: ChannelMessage,
        _ group: inout Group
    ) async throws -> AuthenticatorOutcome? {
        switch message {
        case .update: return nil
        case .json(let payload):
            guard let wallet = handlers.wallet else {
                throw AuthenticatorSessionFailure.clientMisbehaved("it sent JSON, which was not offered")
            }
            try await begin()
            parsedRequests += 1
            handlers.events(.credentialRequested)
            group.addTask { .presented(await wallet(payload)) }
            return nil
        case .shutdown:
            guard !isBusy else { return try await cancelPrompt(.peerClosed, &group) }
            // A client sends *shutdown* when it has received the response.
            if awaitsConfirmation { await handlers.delivered() }
            return try checked(.shutDown)
        case .ctap(let payload):
            try await begin()
            do throws(CTAPRequestError) {
                let request = try CTAPRequest(parsing: payload, accepting: relyingParties)
                parsedRequests += 1
                handlers.events(.request(request.command))
                group.addTask { [handlers] in
                    .answered(Answer(request: request, response: await handlers.answer(request)))
                }
            } catch {
                unparsedRequests += 1
                handlers.events(.request(nil))
                group.addTask { .answered(Answer(request: nil, response: .failure(error.status))) }
            }
            return nil
        }
    }

    /// Begins a request; the last one must have been answered.
    private mutating func begin() async throws {
        guard !isBusy else {
            throw AuthenticatorSessionFailure.clientMisbehaved("it sent a request before the last one was answered")
        }
        if awaitsConfirmation { await handlers.delivered() }
        (isBusy, awaitsConfirmation) = (true, false)
    }

    /// Sends the wallet's reply; returns the outcome if the channel has closed.
    private mutating func send(_ reply: [UInt8], _ group: inout Group) async throws -> AuthenticatorOutcome? {
        isBusy = false
        do {
            try await channel.send(.json(reply))
        } catch {
            guard let reason = ChannelCloseReason(error) else { throw error }
            return .clientLeftDuringRequest(reason)
        }
        awaitsConfirmation = true
        handlers.events(.credentialAnswered)
        startIdleTimer(&group)
        return nil
    }

    /// Sends a response; returns the outcome if the channel has closed.
    private mutating func send(_ answer: Answer, _ group: inout Group) async throws -> AuthenticatorOutcome? {
        isBusy = false
        do {
            try await channel.send(.ctap(answer.response.encoded))
        } catch {
            guard let reason = ChannelCloseReason(error) else { throw error }
            return answer.outcome(reason)
        }
        await handlers.sent()
        awaitsConfirmation = true
        handlers.events(.answered(answer.response.status))
        startIdleTimer(&group)
        return nil
    }

    /// Returns the outcome of a session whose channel ended with an error.
    private func end(_ error: any Error, _ group: inout Group) async throws -> AuthenticatorOutcome {
        try Task.checkCancellation()
        let reason = ChannelCloseReason(error)
        let outcome = isBusy ? try await cancelPrompt(reason ?? .protocolViolation, &group) : nil
        // A lost response has priority over faults of the client: the user must learn that a passkey was created or
        // used.
        if let outcome, case .answerLost = outcome { return outcome }
        if let error = error as? TunnelError, error.reportsBadMessage {
            throw AuthenticatorSessionFailure.clientMisbehaved("it sent a message that relays reject")
        }
        guard let reason else { throw error }
        return try outcome ?? checked(.clientLeft(reason))
    }

    /// Closes the prompt and returns the outcome, which depends on whether the user has already agreed.
    private func cancelPrompt(_ reason: ChannelCloseReason, _ group: inout Group) async throws -> AuthenticatorOutcome {
        group.cancelAll()
        while let step = try await group.next() {
            if case .answered(let answer) = step { return answer.outcome(reason) }
        }
        return .clientLeftDuringRequest(reason)
    }

    /// Throws instead of returning `outcome` if the client sent only requests that cannot be parsed.
    private func checked(_ outcome: AuthenticatorOutcome) throws -> AuthenticatorOutcome {
        guard unparsedRequests == 0 || parsedRequests > 0 else {
            throw AuthenticatorSessionFailure.clientMisbehaved("none of its requests can be parsed")
        }
        return outcome
    }
}
