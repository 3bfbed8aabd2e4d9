// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
internal import HybridDataChannel
internal import HybridThreads

/// The encrypted channel of a transfer, which carries JSON objects in both directions.
///
/// At most one task sends at a time, and at most one receives. The channel is read all the time, so that the end is noticed
/// while a user is asked. Only a few messages are kept that nothing has asked for.
///
/// All methods throw ``AuthenticatorSessionFailure`` on the giver's side, ``ClientFailure`` on the receiver's, and
/// `CancellationError`.
public final class TransferChannel: Sendable {
    /// The handshake hash, which both ends share and no other session has.
    public let handshakeHash: HandshakeHash
    /// The kind of the channel.
    let kind: DataChannelKind

    private struct Inbox: Sendable {
        var unread: [TransferFrame] = []
        /// The reason why no more messages arrive.
        var end: (any Error)?
    }

    /// Maximum number of messages that may arrive before they are received; no peer that takes turns has more.
    static let maximumUnread = 4

    private let channel: EncryptedChannel
    private let failures: any TransferSessionFailure.Type
    private let inbox = AwaitableState(Inbox())

    /// Creates a channel after the handshake, whose errors become failures of this type.
    init(
        _ channel: EncryptedChannel,
        _ handshakeHash: HandshakeHash,
        over kind: DataChannelKind,
        _ failures: any TransferSessionFailure.Type
    ) {
        (self.channel, self.handshakeHash, self.kind, self.failures) = (channel, handshakeHash, kind, failures)
    }

    /// Sends a message; returns when there is room for the next.
    public func send(_ frame: TransferFrame) async throws {
        if let end = inbox.read({ $0.end }) { throw end }
        do {
            try await channel.send(.json(frame.bytes))
        } catch {
            throw failure(error)
        }
    }

    /// Receives the next message.
    ///
    /// - Parameter limit: Time to wait; `nil` for no limit, because the other side may wait for its user.
    public func receive(within limit: Duration?) async throws -> TransferFrame {
        guard let limit else { return try await next() }
        return try await withDeadline(limit, orThrow: failures.peerSilent) { [self] in try await next() }
    }

    /// Runs `operation`, such as a question to the user, and cancels it if the channel ends.
    ///
    /// A message that arrives meanwhile is received later, also after the end.
    public func whileConnected<Outcome: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Outcome
    ) async throws -> Outcome {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            group.addTask(operation: operation)
            group.addTask { [self] in throw try await waitForEnd() }
            defer { group.cancelAll() }
            guard let outcome = try await group.next() else { throw CancellationError() }
            return outcome
        }
    }

    /// Sends *shutdown*, even if the current task is canceled.
    func shutDown() async { await channel.shutDown() }

    /// Runs `body` while messages are read, and sends *shutdown* at the end.
    ///
    /// - Returns: The outcome of `body`, whose error passes through the session unchanged.
    func run<Outcome: Sendable>(
        _ body: @Sendable (TransferChannel) async throws -> Outcome
    ) async -> Result<Outcome, any Error> {
        // Canceled when this method returns.
        async let _: Void = readMessages()
        let result: Result<Outcome, any Error>
        do {
            result = .success(try await body(self))
        } catch {
            result = .failure(error)
        }
        await shutDown()
        return result
    }

    private func readMessages() async {
        do {
            while true {
                switch try await channel.receive() {
                case .json(let body):
                    let isAccepted = inbox.change { inbox in
                        guard inbox.unread.count < Self.maximumUnread else { return false }
                        inbox.unread.append(TransferFrame(received: body))
                        return true
                    }
                    guard isAccepted else { throw failures.peerMisbehaved("it does not wait for answers") }
                case .shutdown: throw failures.peerLeft
                case .ctap, .update: throw failures.peerMisbehaved("it sent a message of a sign-in")
                }
            }
        } catch {
            let end = failure(error)
            inbox.change { $0.end = end }
        }
    }

    private func next() async throws -> TransferFrame {
        while true {
            await inbox.wait { !$0.unread.isEmpty || $0.end != nil }
            try Task.checkCancellation()
            let frame: TransferFrame? = inbox.change { $0.unread.isEmpty ? nil : $0.unread.removeFirst() }
            if let frame { return frame }
            if let end = inbox.read({ $0.end }) { throw end }
        }
    }

    private func waitForEnd() async throws -> any Error {
        while true {
            await inbox.wait { $0.end != nil }
            try Task.checkCancellation()
            if let end = inbox.read({ $0.end }) { return end }
        }
    }

    /// Returns the failure for an error of the channel.
    private func failure(_ error: any Error) -> any Error {
        switch error {
        case let error as any TransferSessionFailure: return error
        case is CancellationError: return error
        case is ChannelMessage.ParseError: return failures.peerMisbehaved("a message can't be read")
        case let error as TunnelError: return failure(error)
        default: return failures.init(error)
        }
    }

    private func failure(_ error: TunnelError) -> any TransferSessionFailure {
        if error == .messageRefused { return failures.peerMisbehaved("a message can't be opened") }
        if error.reportsBadMessage { return failures.peerMisbehaved("it sent a message that relays reject") }
        switch ChannelCloseReason(error) {
        case .peerClosed: return failures.peerLeft
        case .goneAway: return failures.peerOrRelayLeft
        // No relay is involved, so the other device has gone.
        case .connectionLost where kind == .l2cap: return failures.peerLeft
        default: return failures.init(error.code, error.sentence, status: error.status)
        }
    }
}
