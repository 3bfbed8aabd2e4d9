// SPDX-License-Identifier: Apache-2.0

internal import Authenticator
internal import CTAP
internal import HybridSession
internal import ServiceSupport
internal import Vault

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
    func judge(_ end: AuthenticatorEnd) async throws {
        if case .answerLost(let command) = end {
            let left =
                command == .makeCredential
                ? "the new passkey stays in the vault beside all others" : "nothing was changed"
            throw CommandFailure(
                "you agreed, but the other device left before it heard; \(left); try again",
                status: .temporary
            )
        }
        guard await authenticator.fulfilled == 0 else { return }
        if let failure = await authenticator.lastFailure { throw told(failure) }
        let sentence =
            end == .clientLeftDuringRequest
            ? "the other device cancelled before you had answered"
            : "the other device left without asking for anything"
        throw CommandFailure(sentence, status: .temporary)
    }

    private func told(_ failure: AuthenticatorFailure) -> any Error {
        let ending = CommandFailure(failure, vault)
        switch failure {
        case .declined, .noPasskey, .alreadyRegistered: return KnownFailure(ending)
        default: return ending
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
