// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridSession
internal import HybridVault

/// The exit status and error message of a scan whose session ended without an error.
struct ScanOutcome {
    private let authenticator: Authenticator

    init(_ authenticator: Authenticator) { self.authenticator = authenticator }

    /// The notice if the other device did not confirm that it received the new passkey.
    static let replacementUnconfirmed =
        "the new passkey is saved; the old one also stays, because the other device did not confirm that it has the new "
        + "one"

    /// Returns the notice if the new passkey is saved but the old one was not deleted as it should be.
    static func notDeleted(_ failure: StoreFailure) -> String {
        failure.kind == .deletionNotRecorded
            ? "the new passkey is saved; as for the old one, \(failure.sentence)"
            : "the new passkey is saved, but the old one could not be deleted and stays, too (\(failure.sentence))"
    }

    /// Returns the notice if a request is missing from the history.
    static func historyNotWritten(_ failure: StoreFailure) -> String {
        "the request could not be added to the history (\(failure.sentence))"
    }

    /// Returns if a request succeeded; otherwise throws the cause of the last failure.
    func check(_ outcome: AuthenticatorOutcome, over transport: DataChannelKind) async throws {
        if case .answerLost(let command, let reason) = outcome {
            let effect =
                command == .makeCredential ? "the new passkey stays in the vault" : "nothing was changed"
            let cause = reason.clause(
                "disconnected",
                "before it received the response",
                "before the other device received the response",
                over: transport
            )
            throw CommandFailure(
                "you agreed, but \(cause); \(effect); try again",
                code: reason.code,
                status: .temporary
            )
        }
        guard await authenticator.fulfilledCount == 0 else { return }
        // A cancelled prompt is reported by its cause, which is in `outcome`.
        if let failure = await authenticator.lastFailure, failure != .cancelled { throw ended(by: failure) }
        switch outcome {
        case .shutDown: throw left(.peerClosed, over: transport)
        case .clientLeft(let reason): throw left(reason, over: transport)
        case .clientLeftDuringRequest(let reason), .answerLost(_, let reason):
            let moment = "before you answered"
            throw CommandFailure(
                reason.clause("cancelled", moment, moment, over: transport) + reason.remedy(over: transport),
                code: reason.code ?? AuthenticatorFailure.cancelled.code,
                status: .temporary
            )
        }
    }

    private func left(_ reason: ChannelCloseReason, over transport: DataChannelKind) -> CommandFailure {
        let cause =
            reason == .peerClosed
            ? "the other device disconnected without sending a request"
            : reason.clause(
                "disconnected",
                "before it sent a request",
                "before the other device sent a request",
                over: transport
            )
        return CommandFailure(cause + reason.remedy(over: transport), code: reason.code, status: .temporary)
    }

    private func ended(by failure: AuthenticatorFailure) -> any Error {
        let cause = failure.underlying as? VaultError
        let status = failure.ctapStatus == .keyStoreFull ? cause?.status : cause?.statusWhenOpening
        let error = CommandFailure(failure.sentence, code: failure.code, status: status ?? failure.status)
        return [.declined, .noPasskey, .alreadyRegistered].contains(failure) ? AlreadyShownFailure(error) : error
    }
}

extension ChannelCloseReason {
    /// The cause for programs; `nil` if the exit status says it all.
    fileprivate var code: String? {
        switch self {
        case .peerClosed, .timedOut, .protocolViolation: nil
        case .goneAway: "client-vanished"
        case .closed: "tunnel-closed"
        case .connectionLost: "connection-lost"
        }
    }

    /// Returns a clause that says what ended the channel and when.
    ///
    /// - Parameters:
    ///   - action: Action of the other device if it closed the channel.
    ///   - ownMoment: Time of that action, in a clause about the other device.
    ///   - moment: The same time, in a clause about something else.
    ///   - transport: Transport of the channel.
    fileprivate func clause(
        _ action: String,
        _ ownMoment: String,
        _ moment: String,
        over transport: DataChannelKind
    ) -> String {
        switch self {
        case .peerClosed: "the other device \(action) \(ownMoment)"
        case .timedOut: "the other device stopped responding \(ownMoment)"
        case .goneAway: "the other device or the relay disconnected \(moment)"
        case .closed(let code): "the tunnel was closed (code \(code)) \(moment)"
        case .connectionLost where transport == .l2cap: "the Bluetooth connection was lost \(moment)"
        case .connectionLost: "the connection to the relay was lost \(moment)"
        case .protocolViolation: "the other device broke the protocol \(ownMoment)"
        }
    }

    /// Returns the remedy with its semicolon; empty if the other device closed the channel.
    fileprivate func remedy(over transport: DataChannelKind) -> String {
        switch self {
        case .peerClosed: ""
        case .connectionLost where transport == .l2cap: "; go nearer, and scan a new code"
        case .connectionLost: "; check the network, and scan a new code"
        case .timedOut, .goneAway, .closed, .protocolViolation: "; scan a new code"
        }
    }
}
