// SPDX-License-Identifier: Apache-2.0

internal import Authenticator
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

    /// Returns if a request succeeded; else throws the cause of the last failure.
    func judge(_ end: AuthenticatorEnd) async throws {
        if end == .answerLost {
            throw CommandFailure(
                "you agreed, but the other device left before it heard; a new passkey stays in the vault, try again",
                status: .temporary
            )
        }
        if await authenticator.fulfilled > 0 {
            StandardError.writeLine("\(HybridAuth.programName): done")
            return
        }
        if let failure = await authenticator.lastFailure { throw CommandFailure(failure, vault) }
        let sentence =
            end == .clientLeftDuringRequest
            ? "the other device cancelled before you had answered"
            : "the other device left without asking for anything"
        throw CommandFailure(sentence, status: .temporary)
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
        self.init(failure.sentence, status: status)
    }
}

extension VaultError {
    /// The exit code when nothing was to be written: too many files are damage then, not a full disk.
    fileprivate var statusOfReading: ExitStatus {
        if case .tooLarge = self { return .notPermitted }
        return status
    }

    /// The exit code of a vault that can't be used.
    var status: ExitStatus {
        switch self {
        case .doesNotExist, .wasHereButIsEmpty, .incomplete, .notAVault, .notADirectory, .cannotOpen: .noInput
        case .rolledBack, .unsupportedFormat, .anotherVault: .dataError
        case .cannotWrite, .tooLarge: .ioError
        case .busy, .outOfMemory: .temporary
        case .alreadyExists, .loosePermissions, .notOwned, .damaged, .testVaultNeedsVirtualRadio,
            .realVaultRefusesVirtualRadio, .noPINSlotHere, .pinTooShort, .noSuchRecord, .locked:
            .notPermitted
        }
    }
}
