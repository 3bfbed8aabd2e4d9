// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridTransfer
internal import HybridVault

extension TransferChannel {
    /// Time for a message that needs no user.
    static let promptly = Duration.seconds(60)
    /// Time for the other side's user to compare, to choose and to type a PIN.
    static let unhurried = Duration.seconds(900)

    /// Runs one side of a transfer; if it fails here, the other side learns the kind of the failure.
    func explainingEnd<Outcome: Sendable>(_ body: () async throws -> Outcome) async throws -> Outcome {
        do {
            return try await body()
        } catch {
            if let refusal = TransferFailure(toTell: error)?.refusal { try? await send(refusal.frame) }
            throw error
        }
    }
}

extension TransferFailure {
    /// Creates what the other side is told about a failure here; `nil` if it has ended the session itself.
    init?(toTell error: any Error) {
        switch error {
        case let failure as TransferFailure: self = failure
        case let error as VaultError:
            switch error {
            case .cannotWrite, .tooLarge, .changeNotRecorded: self = .full
            default: self = .failed
            }
        case let failure as CommandFailure where failure.code == VaultQuestions.declined.code: self = .declined
        case is CancellationError, is ClientFailure, is AuthenticatorSessionFailure: return nil
        default: self = .failed
        }
    }
}
