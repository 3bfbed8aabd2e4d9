// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCaBLE
internal import HybridDataChannel

/// Stage 3: a client that may ask, one request at a time.
///
/// Reading goes on while the user is being asked: a client that cancels closes the tunnel or sends *shutdown*, and the
/// question must be taken down then. A second request before the first is answered is a fault of the client.
struct ServedClient: Sendable {
    let channel: EncryptedChannel

    /// A client that sends more than this is not one.
    static let mostMessages = 64

    private enum Step: Sendable {
        case received(ChannelMessage)
        case ended(any Error)
        case answered(Answer)
        case idle
    }

    /// An answer that was made, with its request if that could be read.
    private struct Answer: Sendable {
        let request: CTAPRequest?
        let response: CTAPResponse

        /// What it means that the client never hears it.
        func end(_ parting: ChannelCloseReason) -> AuthenticatorOutcome {
            switch request {
            case .makeCredential where response.status == .success: .answerLost(.makeCredential, parting)
            case .getAssertion where response.status == .success: .answerLost(.getAssertion, parting)
            default: .clientLeftDuringRequest(parting)
            }
        }
    }

    func serve(
        _ timeouts: AuthenticatorTimeouts,
        events: @escaping @Sendable (AuthenticatorEvent) -> Void,
        answer: @escaping @Sendable (CTAPRequest) async -> CTAPResponse,
        sent: @escaping @Sendable () async -> Void,
        delivered: @escaping @Sendable () async -> Void
    ) async throws -> AuthenticatorOutcome {
        try await withThrowingTaskGroup(of: Step.self) { group in
            defer { group.cancelAll() }
            var (isBusy, hasAnswered, received, wait) = (false, false, 0, 0)
            var tally = RequestStatistics()
            group.addTask { await next() }
            addIdleTimer(timeouts, &group)
            while let step = try await group.next() {
                switch step {
                case .answered(let answer):
                    isBusy = false
                    do {
                        try await channel.send(.ctap(CTAPPayload(bytes: answer.response.encoded)))
                    } catch {
                        guard let parting = ChannelCloseReason(error) else { throw error }
                        return answer.end(parting)
                    }
                    await sent()
                    hasAnswered = true
                    events(.answered(answer.response.status))
                    wait += 1
                    addIdleTimer(timeouts, &group)
                case .idle:
                    // A timer that was set before a request came belongs to an earlier wait.
                    wait -= 1
                    if !isBusy, wait < 0 {
                        guard received > 0 else { throw AuthenticatorSessionFailure.clientSilent }
                        return try tally.judged(.clientLeft(.silence))
                    }
                case .ended(let error):
                    try Task.checkCancellation()
                    let parting = ChannelCloseReason(error)
                    let end = isBusy ? try await takeDown(&group, parting ?? .garbled) : nil
                    // Whose fault the end is matters less than a passkey that was just saved.
                    if let end, case .answerLost = end { return end }
                    try Self.checkMessages(error)
                    guard let parting else { throw error }
                    return try end ?? tally.judged(.clientLeft(parting))
                case .received(.shutdown):
                    // Sealed by the client after our answer was sent, and clients say goodbye when they have one.
                    if !isBusy, hasAnswered { await delivered() }
                    return isBusy ? try await takeDown(&group, .goodbye) : try tally.judged(.shutDown)
                case .received(.update):
                    break
                case .received(.json):
                    throw AuthenticatorSessionFailure.clientMisbehaved("it sent JSON, which was not offered")
                case .received(.ctap(let payload)):
                    guard !isBusy else {
                        throw AuthenticatorSessionFailure.clientMisbehaved("it asked again before it was answered")
                    }
                    if hasAnswered { await delivered() }
                    (isBusy, hasAnswered) = (true, false)
                    let parsed = Result { () throws(CTAPRequestError) in try CTAPRequest(parsing: payload.bytes) }
                    events(.request(try? parsed.get().command))
                    tally.note(parsed)
                    group.addTask {
                        switch parsed {
                        case .success(let request):
                            .answered(Answer(request: request, response: await answer(request)))
                        case .failure(let error):
                            .answered(Answer(request: nil, response: .failure(error.status)))
                        }
                    }
                }
                if case .received = step {
                    received += 1
                    guard received < Self.mostMessages else {
                        throw AuthenticatorSessionFailure.clientMisbehaved("it asks without end")
                    }
                    group.addTask { await next() }
                }
            }
            return .clientLeft(.broken)
        }
    }

    /// Takes the question down, and sees whether the user had agreed just before.
    private func takeDown(
        _ group: inout ThrowingTaskGroup<Step, any Error>,
        _ parting: ChannelCloseReason
    ) async throws -> AuthenticatorOutcome {
        group.cancelAll()
        while let step = try await group.next() {
            if case .answered(let answer) = step { return answer.end(parting) }
        }
        return .clientLeftDuringRequest(parting)
    }

    private func addIdleTimer(_ timeouts: AuthenticatorTimeouts, _ group: inout ThrowingTaskGroup<Step, any Error>) {
        group.addTask {
            try? await Task.sleep(for: timeouts.untilRequest)
            return .idle
        }
    }

    private func next() async -> Step {
        do {
            return .received(try await channel.receive())
        } catch {
            return .ended(error)
        }
    }

    /// A relay that passes on why it closed tells of a message that no relay carries.
    private static func checkMessages(_ error: any Error) throws {
        guard let error = error as? TunnelError, error.tellsOfBadMessage else { return }
        throw AuthenticatorSessionFailure.clientMisbehaved("it sent a message that relays don't carry")
    }
}

/// What a client has asked so far: who only ever sent what can't be read did not ask for anything.
private struct RequestStatistics {
    private var readable = 0
    private var unreadable = 0

    mutating func note(_ request: Result<CTAPRequest, CTAPRequestError>) {
        switch request {
        case .success: readable += 1
        case .failure: unreadable += 1
        }
    }

    func judged(_ end: AuthenticatorOutcome) throws -> AuthenticatorOutcome {
        guard unreadable == 0 || readable > 0 else {
            throw AuthenticatorSessionFailure.clientMisbehaved("nothing that it asked can be read")
        }
        return end
    }
}
