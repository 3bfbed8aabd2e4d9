// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridCommandSupport
public import HybridPrimitives
internal import HybridSession
internal import HybridVault

/// What a scan that ran to its end means for the exit code.
struct ScanOutcome {
    private let authenticator: Authenticator
    private let vault: Vault

    init(_ authenticator: Authenticator, _ vault: Vault) {
        self.authenticator = authenticator
        self.vault = vault
    }

    /// What is said where the other device left without a word after the new passkey was sent.
    static let notHeard =
        "the new passkey is saved; the old one stays, too, because the other device did not say that it has the new one"

    /// What is said where the new passkey is good and one that it replaces is still there.
    static func notDeleted(_ failure: StoreFailure) -> String {
        if case .deletionNotNoted(let sentence) = failure {
            return "the new passkey is saved; as for the old, \(sentence)"
        }
        return "the new passkey is saved, but the old could not be deleted and stays, too (\(cause(of: failure)))"
    }

    /// What is said where the history lacks what has just happened.
    static func notNoted(_ failure: StoreFailure) -> String {
        "what was asked and came of it could not be added to the history (\(cause(of: failure)))"
    }

    private static func cause(of failure: StoreFailure) -> String {
        switch failure {
        case .damaged(let sentence), .notWritten(let sentence), .deletionNotNoted(let sentence): sentence
        case .locked: "the vault was locked too early"
        }
    }

    /// Returns if a request succeeded; else throws the cause of the last failure.
    func judge(_ end: AuthenticatorOutcome, by way: DataChannelKind) async throws {
        if case .answerLost(let command, let parting) = end {
            let left =
                command == .makeCredential
                ? "the new passkey stays in the vault beside all others" : "nothing was changed"
            let cause = parting.clause("left", "before it heard", "before the other device heard", by: way)
            throw CommandFailure(
                "you agreed, but \(cause); \(left); try again",
                code: parting.code,
                status: .temporary
            )
        }
        guard await authenticator.fulfilled == 0 else { return }
        // That a question was taken down is known here, too, and better: by what.
        if let failure = await authenticator.lastFailure, failure != .cancelled { throw told(failure) }
        switch end {
        case .shutDown: throw left(without: .goodbye, by: way)
        case .clientLeft(let parting): throw left(without: parting, by: way)
        case .clientLeftDuringRequest(let parting), .answerLost(_, let parting):
            let moment = "before you had answered"
            throw CommandFailure(
                parting.clause("cancelled", moment, moment, by: way) + parting.remedy(by: way),
                code: parting.code ?? AuthenticatorFailure.cancelled.code,
                status: .temporary
            )
        }
    }

    private func left(without parting: ChannelCloseReason, by way: DataChannelKind) -> CommandFailure {
        let cause =
            parting == .goodbye
            ? "the other device left without asking for anything"
            : parting.clause(
                "left",
                "before it had asked for anything",
                "before the other device had asked for anything",
                by: way
            )
        return CommandFailure(cause + parting.remedy(by: way), code: parting.code, status: .temporary)
    }

    private func told(_ failure: AuthenticatorFailure) -> any Error {
        let ending = CommandFailure(failure, vault)
        switch failure {
        case .declined, .noPasskey, .alreadyRegistered: return AlreadyShownFailure(ending)
        default: return ending
        }
    }
}

extension ChannelCloseReason {
    /// The cause for programs, where it has one beside the exit status's.
    fileprivate var code: String? {
        switch self {
        case .goodbye, .silence, .garbled: nil
        case .goneAway: "client-vanished"
        case .closed: "tunnel-closed"
        case .broken: "connection-lost"
        }
    }

    /// Who or what went away, and when.
    ///
    /// - Parameters:
    ///   - deed: what the other device did where it said goodbye.
    ///   - itsMoment: when, told of the other device.
    ///   - moment: when, told of something else.
    fileprivate func clause(
        _ deed: String,
        _ itsMoment: String,
        _ moment: String,
        by way: DataChannelKind
    ) -> String {
        switch self {
        case .goodbye: "the other device \(deed) \(itsMoment)"
        case .silence: "the other device fell silent \(itsMoment)"
        case .goneAway: "the other device went away \(itsMoment), or the relay did"
        case .closed(let code): "the tunnel was closed (code \(code)) \(moment)"
        case .broken where way == .l2cap: "the Bluetooth connection was lost \(moment)"
        case .broken: "the connection to the relay was lost \(moment)"
        case .garbled: "what came broke the protocol \(moment)"
        }
    }

    /// What to do, behind a semicolon; nothing where somebody wanted it so.
    fileprivate func remedy(by way: DataChannelKind) -> String {
        switch self {
        case .goodbye: ""
        case .broken where way == .l2cap: "; go nearer, and scan a new code"
        case .broken: "; check the network, and scan a new code"
        case .silence, .goneAway, .closed, .garbled: "; scan a new code"
        }
    }
}

extension CommandFailure {
    fileprivate init(_ failure: AuthenticatorFailure, _ vault: Vault) {
        let status: ExitStatus =
            switch failure {
            case .declined, .wrongPIN, .lockedOut, .noPasskey, .alreadyRegistered: .notPermitted
            case .userTimedOut, .cancelled: .temporary
            case .userUnavailable: .unavailable
            case .noSupportedAlgorithm, .silentRequest: .dataError
            case .storeUnusable: vault.lastFailure?.statusOfReading ?? .notPermitted
            case .notSaved: vault.lastFailure?.status ?? .ioError
            case .internalFault: .software
            }
        self.init(failure.sentence, code: failure.code, status: status)
    }
}
