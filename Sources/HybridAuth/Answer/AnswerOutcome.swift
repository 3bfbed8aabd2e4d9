// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridVault

/// The exit status and message of a session that ran to completion, even if its request failed.
struct AnswerOutcome {
    let authenticator: Authenticator
    let transport: DataChannelKind
    /// True if a linked computer asked, which shows no code.
    let isLinked: Bool

    private static let linkedRemedy = "; start again on the computer"

    /// The notice for the case that the other device did not confirm the new passkey.
    static let replacementUnconfirmed =
        "the new passkey is saved; the old one stays too, because the other device did not confirm the new one"

    /// Returns the notice for the case that the new passkey is saved but the deletion of the old one failed.
    static func notDeleted(_ failure: StoreFailure) -> String {
        failure.kind == .deletionNotRecorded
            ? "the new passkey is saved; as for the old one, \(failure.sentence)"
            : "the new passkey is saved, but the old one could not be deleted, so it stays too (\(failure.sentence))"
    }

    /// Returns the notice for the case that the new passkey is saved but not among the revisions that this device has
    /// seen.
    static func notRecorded(_ failure: StoreFailure) -> String { "as for the new passkey, \(failure.sentence)" }

    /// Returns the notice for the case that a request is missing from the history.
    static func historyNotWritten(_ failure: StoreFailure) -> String {
        "the request could not be added to the history (\(failure.sentence))"
    }

    /// Checks that a request succeeded and no response was lost; otherwise throws the cause.
    func check(_ outcome: AuthenticatorOutcome) async throws {
        if case .answerLost(let command, let reason) = outcome {
            let effect =
                command == .makeCredential ? "the new passkey stays in the vault" : "nothing was changed"
            let cause = clause(reason, "disconnected") { "before \($0) received the response" }
            throw CommandFailure(
                "you agreed, but \(cause); \(effect); try again",
                code: code(reason),
                status: .temporary
            )
        }
        guard await authenticator.fulfilledCount == 0 else { return }
        // A canceled prompt is reported with the cause of the cancellation, which is in `outcome`.
        if let failure = await authenticator.lastFailure, failure != .cancelled { throw ended(by: failure) }
        switch outcome {
        case .shutDown, .clientLeft(.peerClosed):
            throw CommandFailure("the other device disconnected without sending a request", status: .temporary)
        case .clientLeft(let reason):
            let cause = clause(reason, "disconnected") { "before \($0) sent a request" }
            throw CommandFailure(cause + remedy(reason), code: code(reason), status: .temporary)
        case .clientLeftDuringRequest(let reason), .answerLost(_, let reason):
            throw CommandFailure(
                clause(reason, "cancelled") { _ in "before you answered" } + remedy(reason),
                code: code(reason) ?? AuthenticatorFailure.cancelled.code,
                status: .temporary
            )
        }
    }

    private func ended(by failure: AuthenticatorFailure) -> any Error {
        let cause = failure.underlying as? VaultError
        let status = failure.ctapStatus == .keyStoreFull ? cause?.status : cause?.statusWhenOpening
        let sentence = isLinked && failure.needsNewCode ? failure.message + Self.linkedRemedy : failure.sentence
        let error = CommandFailure(sentence, code: failure.code, status: status ?? failure.status)
        return [.declined, .noPasskey, .alreadyRegistered, .signedDataMissing].contains(failure)
            ? AlreadyShownFailure(error) : error
    }

    /// Returns the machine-readable cause; `nil` if the exit status is precise enough.
    private func code(_ reason: ChannelCloseReason) -> String? {
        switch reason {
        case .peerClosed, .timedOut, .protocolViolation: nil
        case .goneAway: "client-vanished"
        case .closed: "tunnel-closed"
        case .connectionLost: "connection-lost"
        }
    }

    /// Returns a clause that says what ended the channel and when.
    ///
    /// - Parameters:
    ///   - reason: The reason why the channel was closed.
    ///   - action: The verb for the other device if it closed the channel.
    ///   - moment: Returns the words for the time; its argument is "it" or "the other device", as the clause requires.
    private func clause(
        _ reason: ChannelCloseReason,
        _ action: String,
        _ moment: (_ device: String) -> String
    ) -> String {
        switch reason {
        case .peerClosed: "the other device \(action) \(moment("it"))"
        case .timedOut: "the other device stopped responding \(moment("it"))"
        case .goneAway: "the other device or the relay disconnected \(moment("the other device"))"
        case .closed(let code): "the tunnel was closed (code \(code)) \(moment("the other device"))"
        case .connectionLost where transport == .l2cap:
            "the Bluetooth connection was lost \(moment("the other device"))"
        case .connectionLost: "the connection to the relay was lost \(moment("the other device"))"
        case .protocolViolation: "the other device violated the protocol \(moment("it"))"
        }
    }

    /// Returns the remedy with its semicolon; empty if the other device closed the channel.
    private func remedy(_ reason: ChannelCloseReason) -> String {
        switch reason {
        case .peerClosed: ""
        case _ where isLinked: Self.linkedRemedy
        case .connectionLost where transport == .l2cap: "; move closer, and scan a new code"
        case .connectionLost: "; check the network, and scan a new code"
        case .timedOut, .goneAway, .closed, .protocolViolation: "; scan a new code"
        }
    }
}
