// SPDX-License-Identifier: Apache-2.0

internal import HybridSSHAgent

/// The agents that may be forwarded to this host, and the one of them that carries requests of websites.
enum ForwardedAgent {
    /// Time for an agent to list its extensions.
    private static let queryTimeout = Duration.seconds(2)
    /// Time limit of a request, beyond the limits of the other computer.
    static let requestTimeout = Duration.seconds(600)

    /// The state of a socket.
    enum State {
        /// Nothing answers.
        case dead
        /// An agent that does not carry requests of websites.
        case other
        /// An agent that does.
        case capable
    }

    /// Returns the state of a socket.
    static func state(of path: String) -> State {
        guard let conversation = AgentConversation(path: path) else { return .dead }
        guard case .message(let answer) = conversation.answer(to: RemoteCarrier.query, within: queryTimeout) else {
            return .dead
        }
        return RemoteCarrier.isListed(in: answer) ? .capable : .other
    }

    /// True if an agent carries requests.
    static var isAvailable: Bool { AgentSockets.paths().contains { state(of: $0) == .capable } }

    /// The result of a request.
    enum Result {
        /// The answer of the other computer.
        case answer(RemoteAnswer)
        /// No agent carries requests.
        case noAgent
        /// The caller has left.
        case cancelled
    }

    /// Sends a message to the first agent that knows the extension, and waits for the answer.
    ///
    /// There is no question before, because each costs a round trip.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - canceller: A descriptor whose end cancels the request; -1 for none.
    static func perform(_ message: RemoteMessage, unlessEnded canceller: CInt = -1) -> Result {
        let request = RemoteCarrier.request(message.encoded)
        for path in AgentSockets.paths() {
            guard let conversation = AgentConversation(path: path) else { continue }
            switch conversation.answer(to: request, unlessEnded: canceller, within: requestTimeout) {
            case .message(let bytes):
                switch RemoteCarrier.answer(in: bytes) {
                case .answer(let answer): return .answer(answer)
                case .unavailable: return .answer(.failure(.init(.refused)))
                case .unknown: continue
                case nil: return .answer(.failure(.init(.failed)))
                }
            case .closed: continue
            case .cancelled: return .cancelled
            case .timedOut: return .answer(.failure(.init(.timedOut)))
            }
        }
        return .noAgent
    }
}
